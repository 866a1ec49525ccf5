import { createReadStream } from "node:fs";
import { appendFile, symlink, truncate, utimes } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { sendUpload } from "../../../../../cli/client/bytes.ts";
import { createTransport } from "../../../../../cli/client/transport.ts";
import { openSource } from "../../../../../cli/commands/vault/item/send-file.ts";
import { createContext } from "../../../../../cli/context.ts";
import { neverStopping } from "../../../../../cli/report.ts";
import { fakeDaemon } from "../../../support/fake-daemon.ts";
import { type FakeItem, toItems } from "../../../support/fake-storage.ts";
import { inWork as inWorkOf, type InWork } from "../../../support/in-work.ts";
import { fakeSystem } from "../../../support/run-cli.ts";

/** Runs `vault item upload …` in a folder that holds these files. */
function inWork(
  files: Readonly<Record<string, string>>,
  items: FakeItem[],
  use: (at: InWork & { readonly stored: () => Record<string, string> }) => Promise<void>,
): Promise<void> {
  return inWorkOf("upload", { items, files }, (at) =>
    use({
      ...at,
      stored: () =>
        Object.fromEntries(
          at.storage.items
            .map(({ id, bytes }) => [bytes === undefined ? `${id}/` : id, String(bytes ?? "")])
            .sort(([one = ""], [other = ""]) => (one < other ? -1 : 1)),
        ),
    }),
  );
}

const album = {
  "album/b.txt": "b",
  "album/a ü 🎉.txt": "a",
  "album/none": "",
  "album/empty/": "",
  "album/deep/er/c.txt": "c",
};

describe("a folder", () => {
  test("a folder is uploaded with everything in it under its own name, into a created target", async () => {
    await inWork(album, toItems({ "docs/": "" }), async ({ go, stored }) => {
      const ran = await go("album home:/docs/new -r --json=item,provider_item_id,error");
      expect(ran.json()).toEqual(
        ["a ü 🎉.txt", "b.txt", "deep/er/c.txt", "none"].map((name) => ({
          item: `album/${name}`,
          provider_item_id: `docs/new/album/${name}`,
          error: null,
        })),
      );
      expect(stored()).toEqual({
        "docs/": "",
        "docs/new/": "",
        "docs/new/album/": "",
        "docs/new/album/a ü 🎉.txt": "a",
        "docs/new/album/b.txt": "b",
        "docs/new/album/deep/": "",
        "docs/new/album/deep/er/": "",
        "docs/new/album/deep/er/c.txt": "c",
        "docs/new/album/empty/": "",
        "docs/new/album/none": "",
      });
    });
  });

  test("a folder without --recursive is a usage error that names the flag", async () => {
    await inWork(album, [], async ({ go, requests }) => {
      expect((await go("album home:/ --json")).error()).toMatchObject({
        exit_code: 2,
        message: "album is a folder",
        hint: "--recursive uploads it with everything in it",
      });
      expect(requests.filter(({ method }) => method === "POST")).toEqual([]);
    });
  });

  test("nothing is created in the target when no source exists", async () => {
    await inWork(
      { "there.txt": "t" },
      toItems({ "docs/": "" }),
      async ({ go, stored, requests }) => {
        for (const sources of ["src/photos", "src/photos other"]) {
          expect((await go(`${sources} home:/new -r --json`)).error()).toMatchObject({
            code: "file_error",
            message: "src/photos: there is no such file",
          });
        }
        expect(stored()).toEqual({ "docs/": "" });
        expect(requests).toEqual([]);
        expect((await go("src/photos there.txt home:/new -r --json")).code).toBe(14);
        expect(stored()).toEqual({ "docs/": "", "new/": "", "new/there.txt": "t" });
      },
    );
  });

  test("merges into an existing folder without replacing files; --skip-existing skips them", async () => {
    const there = toItems({ "album/": "", "album/b.txt": "B", "album/deep/": "" });
    await inWork(album, there, async ({ go, stored, work, storage }) => {
      const ran = await go("album home:/ -r --json");
      expect(ran.code).toBe(14);
      expect(ran.json()).toMatchObject([
        { error: null },
        {
          item: "album/b.txt",
          error: { code: "name_collision", message: "home:/album/b.txt already exists" },
        },
        { error: null },
        { error: null },
      ]);
      expect(stored()["album/b.txt"]).toBe("B");
      expect((await go("album home:/ -r --skip-existing --json=skipped")).json()).toEqual(
        Array.from({ length: 4 }, () => ({ skipped: "same" })),
      );
      // Changed here since it was uploaded.
      const [first] = storage.items;
      storage.items.forEach((one, index) => {
        storage.items[index] = { ...one, modifiedAt: "2001-01-01T00:00:00.000Z" };
      });
      expect(first?.name).toBe("album");
      await utimes(join(work, "album/none"), 1, 1);
      const changed = await go("album home:/ -r --skip-existing --json");
      expect((changed.json() as { skipped?: string }[]).map(({ skipped }) => skipped)).toEqual([
        undefined,
        undefined,
        undefined,
        "same",
      ]);
    });
  });

  test("a folder is refused where a file has its name, and the rest is uploaded", async () => {
    const there = toItems({ "album/": "", "album/deep": "a file" });
    await inWork(album, there, async ({ go, stored }) => {
      const ran = await go("album home:/ -r --json");
      expect(ran.code).toBe(14);
      expect(ran.json()).toContainEqual({
        item: "album/deep/",
        error: { code: "name_collision", message: "home:/album/deep is a file" },
      });
      expect(stored()).toMatchObject({ "album/b.txt": "b", "album/deep": "a file" });
    });
  });

  test("a folder does not lead out of itself: links in it are passed over, one that was typed is followed", async () => {
    await inWork({ ...album, "secret.txt": "s" }, [], async ({ go, stored, work }) => {
      await symlink("../secret.txt", join(work, "album/link"));
      await symlink("..", join(work, "album/deep/loop"));
      await symlink("album", join(work, "typed"));
      const ran = await go("typed home:/ -r --json");
      expect(ran.code).toBe(0);
      expect(ran.json()).toContainEqual({
        item: "typed/link",
        name: "link",
        size: null,
        skipped: "link",
        error: null,
      });
      expect(Object.keys(stored())).not.toContain("typed/link");
      expect(stored()["typed/deep/er/c.txt"]).toBe("c");
    });
  });

  test("a folder with --dry-run is shown as the requests that would be sent", async () => {
    await inWork({ "album/a": "a" }, [], async ({ go, requests }) => {
      const ran = await go("album home:/new -r --dry-run --json");
      expect(ran.json()).toMatchObject({
        dry_run: true,
        requests: [
          { method: "POST", body: { parent_ref: "", name: "new" } },
          { method: "POST", body: { parent_ref: "(the id of home:/new)", name: "album" } },
          {
            method: "POST",
            body: { parent_ref: "(the id of home:/new/album)", filename: "a", file: { size: 1 } },
          },
        ],
      });
      const isRead = ({ method, path }: { method: string; path: string }) =>
        method === "GET" || path.endsWith("/items/batch-list");
      expect(requests.filter((request) => !isRead(request))).toEqual([]);
    });
  });

  test("small files go together in few requests, each with its own outcome", async () => {
    const names = Array.from({ length: 300 }, (_, at) => `many/${at} "q" \\.txt`);
    const files = Object.fromEntries(names.map((name) => [name, name]));
    await inWork(files, toItems({ "many/": "" }), async ({ go, stored, storage, requests }) => {
      storage.override = ({ body }, key) =>
        key.endsWith("/upload") && body.includes('many/7 "q"')
          ? { status: 507, body: { detail: "The server's disk is full." } }
          : undefined;
      const ran = await go("many home:/ -r --json");
      expect(ran.code).toBe(14);
      const results = ran.json() as { item: string; error: object | null }[];
      expect(results.filter(({ error }) => error !== null)).toMatchObject([
        { item: 'many/7 "q" \\.txt', error: { code: "storage_full" } },
      ]);
      expect(stored()['many/299 "q" \\.txt']).toBe('many/299 "q" \\.txt');
      expect(Object.keys(stored())).toHaveLength(300);
      const posted = requests.filter(({ method }) => method === "POST").map(({ path }) => path);
      expect(posted.length).toBeLessThan(10);
      expect(posted.every((path) => /\/batch(-list)?$/.test(path))).toBe(true);
    });
  });

  test("many new folders are created with few requests, each before its files", async () => {
    const paths = Array.from({ length: 20 }, (_, one) =>
      Array.from({ length: 10 }, (_, two) => `album/${one}/${two}/x`),
    ).flat();
    await inWork(
      Object.fromEntries(paths.map((path) => [path, "x"])),
      [],
      async ({ go, requests, stored }) => {
        expect((await go("album home:/ -r --json")).code).toBe(0);
        expect(Object.keys(stored())).toEqual(expect.arrayContaining(paths));
        expect(requests.length).toBeLessThan(20);
      },
    );
  });

  test("a tree that exists is listed with few requests, and no folders that the upload does not enter", async () => {
    const folders = Array.from({ length: 40 }, (_, at) => `album/${at}`);
    const files = Object.fromEntries(
      folders.flatMap((path) => [[`${path}/old/x`, "x"] as const, [`${path}/new/y`, "y"] as const]),
    );
    const there = toItems({
      "album/": "",
      "other/": "",
      "other/deep/": "",
      "album/elsewhere/": "",
      ...Object.fromEntries(
        folders.flatMap((path) => [
          [`${path}/`, ""],
          [`${path}/old/`, ""],
          [`${path}/old/x`, "x"],
        ]),
      ),
    });
    await inWork(files, there, async ({ go, requests, stored }) => {
      const ran = await go("album home:/ -r --skip-existing --json=item,skipped");
      expect(ran.code).toBe(0);
      expect(stored()["album/39/new/y"]).toBe("y");
      const skipped = (ran.json() as { skipped: string | null }[]).filter(
        (one) => one.skipped === "same",
      );
      expect(skipped).toHaveLength(40);
      const listings = requests.filter(({ path }) => path.endsWith("/items/batch-list"));
      expect(listings.length).toBeLessThan(6);
      const refs = listings.flatMap((one) => (one.json() as { parent_refs: string[] }).parent_refs);
      // The top, the folder, 40 in it, and one in each of those.
      expect(refs.toSorted()).toEqual(
        ["", "album", ...folders, ...folders.map((path) => `${path}/old`)].toSorted(),
      );
      expect(requests.filter(({ path }) => path.includes("/items?parent_ref=album"))).toEqual([]);
    });
  });

  test("a file where a folder must be fails that folder and its files, and the rest is uploaded", async () => {
    await inWork(album, toItems({ "album/": "", "album/deep/": "" }), async (at) => {
      at.storage.override = (request, key) =>
        key.endsWith("/folders") && (request.json() as { name: string }).name === "er"
          ? { status: 409, body: { kind: "conflict", reason: "name_collision" } }
          : undefined;
      const ran = await at.go("album home:/ -r --json=item,error");
      expect(ran.code).toBe(14);
      const failed = (ran.json() as { item: string; error: object | null }[]).filter(
        ({ error }) => error !== null,
      );
      expect(failed).toMatchObject([
        { item: "album/deep/er/c.txt", error: { code: "name_collision" } },
        { item: "album/deep/er/", error: { code: "name_collision" } },
      ]);
      expect(at.stored()).toMatchObject({ "album/empty/": "", "album/b.txt": "b" });
    });
  });

  test("files without an outcome are reported when the connection breaks", async () => {
    await inWork(album, [], async ({ go, storage }) => {
      storage.override = (_, key) =>
        key.endsWith("/batch") ? { body: Buffer.from('{"index":0,"sta'), cut: true } : undefined;
      const ran = await go("album home:/ -r --json");
      expect(ran.code).toBe(10);
      expect(ran.error()).toMatchObject({ code: "daemon_unreachable" });
    });
  });

  test("waits at the daemon's limit, and loses nothing", async () => {
    await inWork(album, [], async ({ go, stored, storage }) => {
      let refused = 0;
      storage.override = ({ method }) => {
        if (method !== "POST" || ++refused % 3 !== 1) return undefined;
        return { status: 429, headers: { "Retry-After": "60" }, body: { detail: "Too many" } };
      };
      const ran = await go("album home:/ -r");
      expect(ran.code).toBe(0);
      expect(ran.err).toContain("waiting 60 s");
      expect(Object.keys(stored())).toHaveLength(8);
    });
  });
});

describe("files", () => {
  test("standard input is uploaded once and under a name", async () => {
    await inWork({}, [], async ({ go, stored }) => {
      expect((await go("- - home:/x")).err).toContain("standard input can be uploaded once");
      expect((await go("- home:/")).err).toContain("write home:/NAME");
      expect((await go("- home:/x -r")).err).toContain("does not go with --recursive");
      expect((await go("- home:/x", { stdin: Readable.from([Buffer.from("in")]) })).code).toBe(0);
      expect(stored()).toEqual({ x: "in" });
    });
  });

  test("when no file is uploaded, the error names the files of each reason", async () => {
    const files = Object.fromEntries(
      ["a", "b", "c", "d", "e"].map((name) => [`tree/${name}`, `file ${name}`]),
    );
    await inWork(files, toItems({ "tree/": "" }), async ({ go, storage }) => {
      const detail = [{ loc: ["body", "filename"], msg: "Not a name", type: "value_error" }];
      storage.override = ({ method, body }, key) => {
        if (method !== "POST" || !key.endsWith("/upload")) return undefined;
        return body.includes("file a")
          ? { status: 507, body: { detail: "The server's disk is full." } }
          : { status: 422, body: { detail } };
      };
      const ran = await go("tree home:/ -r --json");
      // That of the first file; 1 would say that croft has a bug.
      expect(ran.code).toBe(17);
      const { message } = ran.error() as { message: string };
      expect(message).toContain("none were uploaded: tree/a: ");
      expect(message).toMatch(/; tree\/b, tree\/c, tree\/d and 1 more: .*Not a name/);
    });
  });

  test("missing local files are reported, and the others are uploaded", async () => {
    await inWork({ b: "b" }, [], async ({ go, stored }) => {
      const ran = await go("missing b home:/ --json");
      expect(ran.json()).toMatchObject([
        { item: "missing", error: { code: "file_error" } },
        { item: "b", error: null },
      ]);
      expect(stored()).toEqual({ b: "b" });
    });
  });

  test("a file that becomes shorter during its upload is reported as a changed file, not as a lost daemon", async () => {
    await inWork({ a: "x".repeat(2_000_000) }, [], async ({ work }) => {
      const cli = createContext(fakeSystem({ home: work }), neverStopping);
      const file = await openSource(cli, "a");
      const stream = file.open();
      await truncate(join(work, "a"), 10);
      await expect(stream.toArray()).rejects.toMatchObject({
        code: "file_error",
        message: "a became shorter while it was read",
      });
    });
  });

  test("files that grow while they are read are sent as long unchanged", async () => {
    await inWork({ a: "abc", none: "" }, [], async ({ work }) => {
      const cli = createContext(fakeSystem({ home: work }), neverStopping);
      for (const [name, size] of [
        ["a", 3],
        ["none", 0],
      ] as const) {
        const file = await openSource(cli, name);
        await appendFile(join(work, name), "more");
        expect(Buffer.concat(await file.open().toArray())).toHaveLength(size);
      }
    });
  });

  test("files whose bytes cannot be read fail for that reason, and not for the connection", async () => {
    await inWork({}, [], async ({ requests }) => {
      expect(requests).toEqual([]);
      await using daemon = await fakeDaemon({ "POST /up": { body: {} } });
      const transport = createTransport(fakeSystem({ home: "/nowhere" }), async () => undefined);
      const sending = sendUpload(transport, {
        url: `${daemon.url}/up`,
        headers: {},
        signal: new AbortController().signal,
        method: "POST",
        boundary: "b",
        form: {
          fields: {},
          fileField: "file",
          filename: "x",
          contentType: "text/plain",
          size: 10,
          canRestart: true,
          open: () => createReadStream("/nowhere/at/all"),
          onProgress: () => undefined,
        },
      });
      await expect(sending).rejects.toMatchObject({ code: "ENOENT" });
    });
  });
});
