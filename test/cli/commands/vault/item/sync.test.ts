import { chmod, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { planSync, type Tree } from "../../../../../cli/commands/vault/item/sync-plan.ts";
import { type FakeItem, toItems } from "../../../support/fake-storage.ts";
import { inWork, type InWork } from "../../../support/in-work.ts";

const stored = ({ storage }: InWork) =>
  Object.fromEntries(
    storage.items
      .map(({ id, bytes }) => [bytes === undefined ? `${id}/` : id, String(bytes ?? "")])
      .sort(([one = ""], [other = ""]) => (one < other ? -1 : 1)),
  );

const old = (items: FakeItem[]) =>
  items.map((one) => ({ ...one, modifiedAt: "2001-01-01T00:00:00.000Z" }));

const album = { "album/a.txt": "a", "album/deep/b.txt": "bb", 'album/q "x" \\.txt': "q" };

describe("a sync from here to a connection", () => {
  test("copies missing files, replaces differing ones and keeps the rest", async () => {
    const there = old(toItems({ "to/": "", "to/a.txt": "other", "to/more.txt": "more" }));
    await inWork("sync", { items: there, files: album }, async (at) => {
      const ran = await at.go("album home:/to --json");
      expect(ran.code).toBe(0);
      expect(ran.json()).toMatchObject([
        { item: "deep", action: "folder", error: null },
        { item: "a.txt", action: "replace", size: 1, error: null },
        { item: "deep/b.txt", action: "copy", size: 2, error: null },
        { item: 'q "x" \\.txt', action: "copy", size: 1, error: null },
      ]);
      expect(stored(at)).toEqual({
        "to/": "",
        "to/a.txt": "a",
        "to/deep/": "",
        "to/deep/b.txt": "bb",
        "to/more.txt": "more",
        'to/q "x" \\.txt': "q",
      });
    });
  });

  test("deletes with --delete only, after a confirmation, and not after a failure", async () => {
    const there = old(toItems({ "to/": "", "to/gone/": "", "to/gone/x": "x", "to/y": "y" }));
    await inWork("sync", { items: there, files: album }, async (at) => {
      const unasked = await at.go("album home:/to --delete --json");
      expect(unasked.error()).toMatchObject({ code: "missing_input", hint: "give --yes" });
      expect(stored(at)).toHaveProperty("to/y");
      at.storage.override = (_, key) =>
        key.endsWith("/batch")
          ? { status: 503, body: { detail: "The provider is ill" } }
          : undefined;
      const failed = await at.go("album home:/to --delete --yes --json");
      expect(failed.code).not.toBe(0);
      expect(stored(at)).toHaveProperty("to/y");
      at.storage.override = () => undefined;
      const ran = await at.go("album home:/to --delete --yes --json=item,action");
      expect(ran.code).toBe(0);
      expect((ran.json() as { action: string }[]).slice(-2)).toEqual([
        { item: "gone", action: "delete" },
        { item: "y", action: "delete" },
      ]);
      expect(Object.keys(stored(at))).toEqual([
        "to/",
        "to/a.txt",
        "to/deep/",
        "to/deep/b.txt",
        'to/q "x" \\.txt',
      ]);
    });
  });

  test("a file in place of a local folder is refused, with a command that helps", async () => {
    await inWork("sync", { items: toItems({ "to/": "" }), files: album }, async (at) => {
      const up = await at.go("album/a.txt home:/to --json");
      expect(up.error()).toMatchObject({
        code: "file_error",
        message: "album/a.txt is not a folder",
        hint: expect.stringContaining("vault item upload"),
      });
      const down = await at.go("home:/to album/a.txt --json");
      expect(down.error()["hint"]).toContain("vault item download");
      const missing = await at.go("gone home:/to --json");
      expect(missing.error()["message"]).toBe("gone does not exist");
    });
  });

  test("a missing target is created with the folders above it, by a dry run it is not", async () => {
    await inWork("sync", { items: toItems({ "to/": "", file: "f" }), files: album }, async (at) => {
      const dry = await at.go("album home:/to/new/deep --dry-run --json");
      expect((dry.json() as { plan: object[] }).plan).toHaveLength(4);
      expect(Object.keys(stored(at))).toEqual(["file", "to/"]);
      const ran = await at.go("album home:/to/new/deep --delete --json");
      expect(ran.code).toBe(0);
      expect(stored(at)["to/new/deep/a.txt"]).toBe(album["album/a.txt"]);
      // A source must exist, a file is no target, and a new folder in the source would be copied into itself.
      expect((await at.go("home:/none album --json")).code).toBe(6);
      expect((await at.go("album home:/file/ --json")).code).toBe(6);
      expect((await at.go("home:/to home:/to/inner/x --json")).code).toBe(2);
      expect((await at.go("home:/to/new home:/copy --json")).code).toBe(0);
      expect(stored(at)["copy/deep/a.txt"]).toBe(album["album/a.txt"]);
    });
  });

  test("--dry-run prints the plan and changes nothing", async () => {
    const there = old(toItems({ "to/": "", "to/a.txt": "other", "to/y": "y" }));
    await inWork("sync", { items: there, files: album }, async (at) => {
      const ran = await at.go("album home:/to --delete --dry-run --json");
      expect(ran.json()).toMatchObject({
        plan: [
          { action: "replace", path: "a.txt", size: 1 },
          { action: "folder", path: "deep", size: null },
          { action: "copy", path: "deep/b.txt", size: 2 },
          { action: "copy", path: 'q "x" \\.txt', size: 1 },
          { action: "delete", path: "y", size: 1 },
        ],
      });
      const reads = ({ method, path }: { method: string; path: string }) =>
        method === "GET" || path.endsWith("/items/batch-list");
      expect(at.requests.filter((request) => !reads(request))).toEqual([]);
    });
  });

  test("a tree of 400 new folders is created with few requests", async () => {
    const paths = Array.from({ length: 20 }, (_, one) =>
      Array.from({ length: 19 }, (_, two) => `album/${one}/${two}/x`),
    ).flat();
    const files = Object.fromEntries(paths.map((path) => [path, "x"]));
    const there = toItems({ "to/": "" });
    await inWork("sync", { items: there, files }, async (at) => {
      await at.go("album home:/to --json");
      expect(there.map(({ id }) => id)).toEqual(
        expect.arrayContaining(paths.map((path) => path.replace("album", "to"))),
      );
      expect(at.requests.length).toBeLessThan(20);
    });
  });

  test("a tree of 400 folders is planned with few requests", async () => {
    const folders = Array.from({ length: 20 }, (_, one) =>
      Array.from({ length: 19 }, (_, two) => [`to/${one}/`, `to/${one}/${two}/`]).flat(),
    ).flat();
    const tree = Object.fromEntries(
      folders.flatMap((path) => [
        [path, ""],
        [`${path}x`, "x"],
      ]),
    );
    const there = old(toItems({ "to/": "", ...tree }));
    await inWork("sync", { items: there, files: { "album/a.txt": "a" } }, async (at) => {
      const ran = await at.go("album home:/to --delete --dry-run --json");
      const { plan } = ran.json() as { plan: { action: string }[] };
      expect(plan.filter(({ action }) => action === "delete")).toHaveLength(20);
      expect(at.requests.length).toBeLessThan(20);
    });
  });

  test("a file that another client changed after the plan is not replaced", async () => {
    const there = old(toItems({ "to/": "", "to/a.txt": "other" }));
    await inWork("sync", { items: there, files: { "album/a.txt": "a" } }, async (at) => {
      at.storage.override = ({ method }) => {
        if (method !== "PUT") return undefined;
        at.storage.items[1] = { ...there[1]!, bytes: Buffer.from("theirs") };
        return undefined;
      };
      const ran = await at.go("album home:/to --json");
      expect(ran.error()).toMatchObject({ code: "stale", exit_code: 7 });
      expect(stored(at)["to/a.txt"]).toBe("theirs");
    });
  });

  test("a file of a storage without etags that changed after the plan is not replaced or deleted", async () => {
    const untagged = (files: Record<string, string>) =>
      old(toItems({ "to/": "", ...files })).map((one) => ({ ...one, hasNoTag: true }));
    /** The file gets other bytes just before the command looks at it again. */
    const changeLate = (at: InWork, id: string) => {
      at.storage.override = ({ path }) => {
        const name = new URL(path, "http://x").searchParams.get("name");
        if (name !== id.split("/").at(-1)) return undefined;
        const index = at.storage.items.findIndex((one) => one.id === id);
        at.storage.items[index] = { ...at.storage.items[index]!, bytes: Buffer.from("theirs") };
        return undefined;
      };
    };
    const files = { "album/a.txt": "a", "album/y": "new" };
    const replaced = untagged({ "to/a.txt": "other", "to/y": "y" });
    await inWork("sync", { items: replaced, files }, async (at) => {
      changeLate(at, "to/a.txt");
      const ran = await at.go("album home:/to --json");
      expect(ran.json()).toMatchObject([
        {
          item: "a.txt",
          error: { code: "stale", message: expect.stringContaining("not replaced") },
        },
        { item: "y", action: "replace", error: null },
      ]);
      expect(stored(at)).toMatchObject({ "to/a.txt": "theirs", "to/y": "new" });
    });
    await inWork("sync", { items: untagged({ "to/z": "z" }), files }, async (at) => {
      changeLate(at, "to/z");
      const ran = await at.go("album home:/to --delete --yes --json");
      expect(ran.code).toBe(14);
      expect(stored(at)).toMatchObject({ "to/y": "new", "to/z": "theirs" });
    });
  });

  test("a file or folder that another client changed after the plan is not deleted", async () => {
    const there = old(toItems({ "to/": "", "to/gone/": "", "to/gone/x": "x", "to/y": "y" }));
    await inWork("sync", { items: there, files: { "album/a.txt": "a" } }, async (at) => {
      at.storage.override = (_, key) => {
        if (!key.endsWith("/items/batch")) return undefined;
        for (const [index, { id }] of at.storage.items.entries())
          if (id.endsWith("y"))
            at.storage.items[index] = { ...at.storage.items[index]!, bytes: Buffer.from("newer") };
        at.storage.items.push(...toItems({ "to/gone/new": "new" }));
        return undefined;
      };
      const ran = await at.go("album home:/to --delete --yes --json");
      expect(ran.code).toBe(14);
      expect(ran.json()).toMatchObject([
        { item: "a.txt", error: null },
        { item: "gone", error: { code: "stale" } },
        { item: "y", error: { code: "stale" } },
      ]);
      expect(stored(at)).toMatchObject({ "to/gone/new": "new", "to/gone/x": "x", "to/y": "newer" });
      at.storage.override = () => undefined;
      expect((await at.go("album home:/to --delete --yes --json")).code).toBe(0);
      expect(stored(at)).toEqual({ "to/": "", "to/a.txt": "a" });
    });
  });

  test.each([
    ["files", { "album/e\u0301": "one", "album/\u00e9": "two", "album/z": "z" }],
    ["folders", { "album/e\u0301/in": "one", "album/\u00e9/in": "two", "album/z": "z" }],
  ])("of two %s whose names differ in Unicode form, one is a conflict", async (_, files) => {
    await inWork("sync", { items: toItems({ "to/": "", "to/y": "y" }), files }, async (at) => {
      const ran = await at.go("album home:/to --delete --yes --json");
      expect(ran.code).toBe(14);
      expect((ran.json() as { error: object | null }[]).filter(({ error }) => error)).toMatchObject(
        [
          {
            item: "\u00e9",
            error: { code: "conflict", message: expect.stringContaining("e\\u{301}") },
          },
        ],
      );
      expect(stored(at)).toMatchObject({ "to/z": "z", "to/y": "y" });
      expect(Object.values(stored(at))).toContain("one");
      expect(Object.values(stored(at))).not.toContain("two");
    });
  });

  test("the part files of interrupted downloads are not uploaded", async () => {
    const files = { "album/a": "a", "album/b.abcdefgh12.croft-part": "half" };
    await inWork("sync", { items: toItems({ "to/": "" }), files }, async (at) => {
      expect((await at.go("album home:/to --json")).code).toBe(0);
      expect(stored(at)).toEqual({ "to/": "", "to/a": "a" });
    });
    await inWork("upload", { items: toItems({ "to/": "" }), files }, async (at) => {
      const ran = await at.go("album home:/to -r --json=name,skipped");
      expect([ran.code, ran.json()]).toEqual([
        0,
        [
          { name: "a", skipped: null },
          { name: "b.abcdefgh12.croft-part", skipped: "partial download" },
        ],
      ]);
    });
  });

  test("a file instead of a folder is a conflict, and nothing is deleted", async () => {
    const there = old(toItems({ "to/": "", "to/deep": "a file", "to/y": "y" }));
    await inWork("sync", { items: there, files: album }, async (at) => {
      const ran = await at.go("album home:/to --delete --yes --json");
      expect(ran.code).toBe(14);
      expect(ran.json()).toContainEqual(
        expect.objectContaining({
          item: "deep/b.txt",
          error: expect.objectContaining({ code: "conflict" }),
        }),
      );
      expect(stored(at)).toHaveProperty("to/y");
    });
  });
});

describe("a sync from a connection to here", () => {
  test("copies, replaces and deletes; a second run changes nothing", async () => {
    const items = toItems({ "docs/": "", "docs/a.txt": "new", "docs/in/": "", "docs/in/b": "b" });
    const files = { "here/a.txt": "older", "here/gone/x": "x", "here/keep": "k" };
    await inWork("sync", { items, files }, async (at) => {
      await symlink("keep", join(at.work, "here/link"));
      const ran = await at.go("home:/docs here --delete --yes --json");
      expect(ran.code).toBe(0);
      expect(await readFile(join(at.work, "here/a.txt"), "utf8")).toBe("new");
      expect((await readdir(join(at.work, "here"))).toSorted()).toEqual(["a.txt", "in", "link"]);
      const again = await at.go("home:/docs ./here --delete --yes --json");
      expect([again.code, again.json()]).toEqual([0, []]);
    });
  });

  test("a local file that changed after the plan is not replaced", async () => {
    const large = Buffer.alloc(9 * 1024 * 1024, "n");
    const items = toItems({ "docs/": "", "docs/a.txt": "the new one", "docs/b.bin": large });
    const files = { "here/a.txt": "old", "here/b.bin": "old" };
    await inWork("sync", { items, files }, async (at) => {
      at.storage.override = async (_, key) => {
        if (!key.includes("download")) return undefined;
        for (const name of Object.keys(files)) await writeFile(join(at.work, name), "edited here");
        return undefined;
      };
      const ran = await at.go("home:/docs here --json");
      expect(ran.code).toBe(7);
      expect(ran.err).toMatch(/"code":"stale".*a\.txt .*not replaced; b\.bin .*not replaced/);
      for (const name of Object.keys(files))
        expect(await readFile(join(at.work, name), "utf8")).toBe("edited here");
    });
  });

  test("a local file or folder that changed after the plan is not deleted", async () => {
    const items = toItems({ "docs/": "", "docs/a.txt": "new" });
    const files = { "here/gone/x": "x", "here/keep": "k", "here/same": "s" };
    await inWork("sync", { items, files }, async (at) => {
      at.storage.override = async (_, key) => {
        if (!key.includes("download")) return undefined;
        await writeFile(join(at.work, "here/keep"), "a newer version");
        await writeFile(join(at.work, "here/gone/later"), "written meanwhile");
        return undefined;
      };
      const ran = await at.go("home:/docs here --delete --yes --json");
      expect(ran.code).toBe(14);
      expect(ran.json()).toMatchObject([
        { item: "a.txt", error: null },
        { item: "gone", error: { code: "stale" } },
        { item: "keep", error: { code: "stale" } },
        { item: "same", action: "delete", error: null },
      ]);
      expect(await readFile(join(at.work, "here/keep"), "utf8")).toBe("a newer version");
      expect((await readdir(join(at.work, "here/gone"))).toSorted()).toEqual(["later", "x"]);
    });
  });

  test("a local name keeps its Unicode form when its file is replaced, filled or deleted", async () => {
    const items = toItems({
      "docs/": "",
      "docs/\u00e9": "newer",
      "docs/\u00e8/": "",
      "docs/\u00e8/in": "in",
    });
    const files = { "here/e\u0301": "old", "here/e\u0300/": "", "here/a\u0302": "gone" };
    await inWork("sync", { items, files }, async (at) => {
      const ran = await at.go("home:/docs here --delete --yes --json");
      expect(ran.code, ran.err).toBe(0);
      expect((await readdir(join(at.work, "here"))).toSorted()).toEqual(["e\u0300", "e\u0301"]);
      expect(await readFile(join(at.work, "here/e\u0301"), "utf8")).toBe("newer");
      expect(await readdir(join(at.work, "here/e\u0300"))).toEqual(["in"]);
    });
  });

  test("hostile names stay in the folder, and a link in the target is not followed", async () => {
    const items: FakeItem[] = [
      { id: "1", parent: "", name: "..", bytes: Buffer.from("x") },
      { id: "2", parent: "", name: "a/../../b", bytes: Buffer.from("y") },
      { id: "3", parent: "", name: "sub" },
      { id: "4", parent: "3", name: "f", bytes: Buffer.from("z") },
    ];
    await inWork("sync", { items, files: { "out/": "", "here/": "" } }, async (at) => {
      await symlink(join(at.work, "out"), join(at.work, "here/sub"));
      const ran = await at.go("home:/ here --json");
      expect(ran.code).toBe(14);
      expect(await readdir(join(at.work, "out"))).toEqual([]);
      expect((await readdir(join(at.work, "here"))).toSorted()).toEqual(["_", "a_.._.._b", "sub"]);
      expect((await readdir(at.work)).toSorted()).toEqual(["here", "out"]);
    });
  });

  test("a folder that cannot be listed stops the sync before anything is changed", async () => {
    await inWork(
      "sync",
      { items: toItems({ "docs/": "" }), files: { "here/x": "x" } },
      async (at) => {
        at.storage.override = ({ path }) =>
          path.includes("refresh=true") && path.includes("parent_ref=docs")
            ? {
                body: {
                  parent_ref: "docs",
                  refresh_state: "failed",
                  error_code: "offline",
                  error_message: "offline",
                  listed_at: "x",
                  items: [],
                  next_cursor: null,
                },
              }
            : undefined;
        const ran = await at.go("home:/docs here --delete --yes --json");
        expect(ran.error()).toMatchObject({ code: "provider_offline" });
        expect(await readdir(join(at.work, "here"))).toEqual(["x"]);
      },
    );
  });
});

test("a plan deletes a folder as one step and passes links over", () => {
  const tree = (paths: Readonly<Record<string, "file" | "folder" | "other">>): Tree =>
    new Map(
      Object.entries(paths).map(([path, kind]) => [
        path,
        { path, kind, size: null, modifiedAt: undefined },
      ]),
    );
  const steps = planSync(
    tree({ link: "other" }),
    tree({ a: "folder", "a/b": "folder", "a/b/c": "file", "a-b": "file", link: "other" }),
    true,
  );
  expect(steps.map(({ action, path }) => [action, path])).toEqual([
    ["delete", "a"],
    ["delete", "a-b"],
  ]);
});

test("two local folders are a usage error", async () => {
  await inWork("sync", {}, async ({ go }) => {
    expect((await go("./a ./b --json")).error()).toMatchObject({ code: "usage" });
  });
});

describe("item edit", () => {
  const editor = async (work: string, script: string) => {
    await writeFile(join(work, "editor"), `#!/bin/sh\n${script}\n`);
    await chmod(join(work, "editor"), 0o755);
    return { env: { EDITOR: join(work, "editor") } };
  };

  test("puts the changed file back, and leaves an unchanged one", async () => {
    await inWork("edit", { items: toItems({ "a.txt": "one" }) }, async (at) => {
      const none = await at.go("home:/a.txt --json", { env: {} });
      expect(none.error()).toMatchObject({ code: "usage", message: "no editor is set" });
      const still = await at.go("home:/a.txt --json", await editor(at.work, "true"));
      expect(still.json()).toMatchObject({ kind: "unchanged" });
      const ran = await at.go("home:/a.txt --json", await editor(at.work, 'echo two >> "$1"'));
      expect(ran.json()).toMatchObject({ kind: "uploaded", provider_item_id: "a.txt" });
      expect(stored(at)).toEqual({ "a.txt": "onetwo\n" });
    });
  });

  test("keeps the edited file and prints its path when another client changed the original", async () => {
    await inWork("edit", { items: toItems({ "a.txt": "one" }) }, async (at) => {
      at.storage.override = ({ method }) => {
        if (method === "PUT")
          at.storage.items[0] = { ...at.storage.items[0]!, bytes: Buffer.from("theirs") };
        return undefined;
      };
      const ran = await at.go("home:/a.txt --json", await editor(at.work, 'echo mine > "$1"'));
      const { code, hint } = ran.error() as { code: string; hint: string };
      expect(code).toBe("stale");
      const [, path = ""] = /kept in (.*)$/.exec(hint) ?? [];
      expect(await readFile(path, "utf8")).toBe("mine\n");
      expect(stored(at)).toEqual({ "a.txt": "theirs" });
    });
  });
});

test("item edit keeps a saved edit when the editor fails afterwards", async () => {
  await inWork("edit", { items: toItems({ "a.txt": "one" }) }, async (at) => {
    const failing = `sh -c 'echo mine > "$0"; exit 3'`;
    const ran = await at.go("home:/a.txt --json", { env: { EDITOR: failing } });
    const { code, hint } = ran.error() as { code: string; hint: string };
    expect(code).toBe("cancelled");
    const [, path = ""] = /kept in (.*)$/.exec(hint) ?? [];
    expect(await readFile(path, "utf8")).toBe("mine\n");
    const unsaved = await at.go("home:/a.txt --json", { env: { EDITOR: "sh -c 'exit 3'" } });
    expect(unsaved.error()).toMatchObject({ code: "cancelled", hint: "nothing was replaced" });
    const planned = await at.go("home:/a.txt --json --dry-run", {
      env: { EDITOR: `sh -c 'echo mine > "$0"'` },
    });
    expect([planned.code, planned.json()]).toMatchObject([0, { dry_run: true }]);
    expect(stored(at)).toEqual({ "a.txt": "one" });
  });
});

describe("item upload --replace", () => {
  test("replaces files that are there, and skips the same with --skip-existing", async () => {
    const items = old(toItems({ "album/": "", "album/a.txt": "older" }));
    await inWork("upload", { items, files: { "album/a.txt": "a", "album/b": "b" } }, async (at) => {
      expect((await at.go("album home:/ -r --json")).code).toBe(14);
      expect((await at.go("album home:/ -r --replace --skip-existing")).code).toBe(0);
      expect(stored(at)).toEqual({ "album/": "", "album/a.txt": "a", "album/b": "b" });
      await writeFile(join(at.work, "one"), "single");
      expect((await at.go("one home:/album/b --replace")).code).toBe(0);
      expect(stored(at)["album/b"]).toBe("single");
    });
  });
});

describe("item mkdir", () => {
  test("refuses an existing folder, and accepts it with --parents", async () => {
    await inWork("mkdir", { items: toItems({ "docs/": "", file: "f" }) }, async (at) => {
      const taken = await at.go("home:/docs --json");
      expect(taken.error()).toMatchObject({ code: "name_collision", exit_code: 7 });
      const same = await at.go("home:/docs --parents");
      expect([same.code, same.out, same.err]).toEqual([0, "", ""]);
      expect((await at.go("home:/file --parents --json")).code).toBe(7);
      const deep = await at.go("home:/docs/a/b/c -p --json");
      expect(deep.json()).toMatchObject({ provider_item_id: "docs/a/b/c" });
      expect(Object.keys(stored(at))).toEqual([
        "docs/",
        "docs/a/",
        "docs/a/b/",
        "docs/a/b/c/",
        "file",
      ]);
      expect((await at.go("home:/no/such --json")).code).toBe(6);
    });
  });
});

test("an item is found by its name in another Unicode form than the storage has", async () => {
  const items = toItems({ "cafe\u0301/": "", "cafe\u0301/re\u0301sume\u0301.txt": "text" });
  await inWork("cat", { items }, async (at) => {
    expect(await at.go("home:/caf\u00e9/r\u00e9sum\u00e9.txt")).toMatchObject({
      code: 0,
      out: "text",
    });
  });
  // No second folder is made beside it.
  await inWork("mkdir", { items }, async (at) => {
    expect((await at.go("home:/caf\u00e9 --json")).error()).toMatchObject({
      code: "name_collision",
    });
  });
});
