import { describe, expect, test } from "vitest";
import { type FakeStorage, toItems } from "../../../support/fake-storage.ts";
import { inWork } from "../../../support/in-work.ts";

const album = () =>
  toItems({
    "album/": "",
    "album/a.txt": "a",
    "album/deep/": "",
    "album/deep/large.bin": Buffer.alloc(300_000, 7),
    'album/q "x" \\.txt': "q",
    "other.txt": "other",
  });

const stored = ({ items }: FakeStorage) =>
  Object.fromEntries(
    items
      .map(({ id, bytes }) => [bytes === undefined ? `${id}/` : id, bytes?.byteLength ?? 0])
      .sort(([one = ""], [other = ""]) => (one < other ? -1 : 1)),
  );

const copied = {
  "to/": 0,
  "to/album/": 0,
  "to/album/a.txt": 1,
  "to/album/deep/": 0,
  "to/album/deep/large.bin": 300_000,
  'to/album/q "x" \\.txt': 1,
};

describe("copying a folder to another connection", () => {
  test("copies everything in the folder, and in a second run only missing files", async () => {
    await inWork("copy", { items: album(), away: toItems({ "to/": "" }) }, async (at) => {
      const ran = await at.go("home:/album home:/other.txt away:/to --recursive --json");
      expect(ran.code, ran.err).toBe(0);
      expect(stored(at.away)).toEqual({ ...copied, "to/other.txt": 5 });
      expect(ran.json()).toContainEqual(
        expect.objectContaining({ item: "home:/album/a.txt", size: 1, skipped: null, error: null }),
      );
      at.away.items.splice(
        at.away.items.findIndex(({ name }) => name === "a.txt"),
        1,
      );
      const again = await at.go("home:/album away:/to -r --json=item,skipped");
      expect(again.json()).toEqual(
        expect.arrayContaining([
          { item: "home:/album/a.txt", skipped: null },
          { item: "home:/album/deep/large.bin", skipped: "same" },
        ]),
      );
      expect(stored(at.away)).toEqual({ ...copied, "to/other.txt": 5 });
    });
  });

  test("many small files take few requests, and one that cannot be read fails alone", async () => {
    const names = Array.from({ length: 300 }, (_, at) => `album/${at}.txt`);
    const items = toItems({ "album/": "", ...Object.fromEntries(names.map((one) => [one, one])) });
    await inWork("copy", { items, away: toItems({ "to/": "" }) }, async (at) => {
      at.storage.override = (_, key) =>
        key.includes("7.txt/download")
          ? { status: 503, body: { detail: "The provider has no file with this id." } }
          : undefined;
      const ran = await at.go("home:/album away:/to -r --json");
      const failed = (ran.json() as { item: string; error: object | null }[]).filter(
        ({ error }) => error !== null,
      );
      expect(failed.map(({ item }) => item)).toEqual(
        names.filter((one) => one.endsWith("7.txt")).map((one) => `home:/${one}`),
      );
      expect(Object.keys(stored(at.away))).toHaveLength(2 + 270);
      expect(at.requests.length).toBeLessThan(20);
    });
  });

  test("leaves a file that differs, reports it and copies the others", async () => {
    const away = toItems({ "to/": "", "to/album/": "", "to/album/a.txt": "longer" });
    await inWork("copy", { items: album(), away }, async (at) => {
      const ran = await at.go("home:/album away:/to -r --json");
      expect(ran.code).toBe(14);
      expect(ran.json()).toContainEqual(
        expect.objectContaining({
          item: "home:/album/a.txt",
          error: expect.objectContaining({ code: "name_collision" }),
        }),
      );
      expect(stored(at.away)).toEqual({ ...copied, "to/album/a.txt": 6 });
    });
  });

  test("--dry-run prints the plan and changes nothing", async () => {
    await inWork("copy", { items: album(), away: toItems({ "to/": "" }) }, async (at) => {
      const ran = await at.go("home:/album away:/to -r --dry-run --json");
      expect(ran.json()).toMatchObject({
        plan: [
          { action: "folder", path: "home:/album" },
          { action: "copy", path: "home:/album/a.txt", size: 1 },
          { action: "folder", path: "home:/album/deep" },
          { action: "copy", path: "home:/album/deep/large.bin", size: 300_000 },
          { action: "copy", size: 1 },
        ],
      });
      const reads = ({ method, path }: { method: string; path: string }) =>
        method === "GET" || path.endsWith("/items/batch-list");
      expect(at.requests.filter((request) => !reads(request))).toEqual([]);
    });
  });

  test("without --recursive a folder is refused, and into itself always", async () => {
    await inWork("copy", { items: album(), away: [] }, async (at) => {
      expect((await at.go("home:/album away:/ --json")).error()).toMatchObject({
        code: "unsupported",
      });
      expect((await at.go("home:/album home:/album/deep -r --json")).error()).toMatchObject({
        code: "invalid_destination",
      });
      expect((await at.go("home:/album home:/ -r --json")).error()).toMatchObject({
        code: "invalid_destination",
      });
      expect(stored(at.away)).toEqual({});
    });
  });
});

describe("moving a folder to another connection", () => {
  test("deletes the original when every copy was read back", async () => {
    await inWork("move", { items: album(), away: toItems({ "to/": "" }) }, async (at) => {
      const ran = await at.go("home:/album away:/to --json");
      expect(ran.code, ran.err).toBe(0);
      expect(ran.json()).toEqual({ kind: "moved", provider_item_id: "to/album", parent_ref: "to" });
      expect(stored(at.away)).toEqual(copied);
      expect(stored(at.storage)).toEqual({ "other.txt": 5 });
    });
  });

  test("keeps the original when a copy differs, or something in it has changed meanwhile", async () => {
    await inWork("move", { items: album(), away: toItems({ "to/": "" }) }, async (at) => {
      at.away.override = (_, key) => {
        if (!key.endsWith("a.txt/download")) return undefined;
        return { body: Buffer.from("?"), headers: { ETag: '"x"' } };
      };
      const differs = await at.go("home:/album away:/to --json");
      expect(differs.error()).toMatchObject({ code: "provider_failed" });
      expect(stored(at.storage)).toHaveProperty("album/a.txt");
      at.away.override = () => undefined;
      at.storage.override = ({ method }, key) => {
        if (method === "GET" && key.includes("download") && at.storage.items.length < 7)
          at.storage.items.push(...toItems({ "album/new.txt": "new" }));
        return undefined;
      };
      const changed = await at.go("home:/album away:/to --json");
      expect(changed.error()).toMatchObject({ code: "stale" });
      expect(stored(at.storage)).toHaveProperty("album/new.txt");
      at.storage.override = () => undefined;
      expect((await at.go("home:/album away:/to --json")).code).toBe(0);
      expect(stored(at.storage)).toEqual({ "other.txt": 5 });
      expect(stored(at.away)).toEqual({ ...copied, "to/album/new.txt": 3 });
    });
  });
});

test("a move to another connection deletes only the version that it copied", async () => {
  const items = toItems({ "a.txt": "one" });
  await inWork("move", { items, away: toItems({ "to/": "" }) }, async (at) => {
    at.away.override = (_, key) => {
      // The copy is read back: another client saves at this moment.
      if (key.endsWith("/download")) at.storage.items[0] = toItems({ "a.txt": "newer" })[0]!;
      return undefined;
    };
    const ran = await at.go("home:/a.txt away:/to --json");
    expect(ran.error()).toMatchObject({ code: "stale", hint: expect.stringContaining("a.txt") });
    expect(stored(at.storage)).toEqual({ "a.txt": 5 });
    expect(stored(at.away)).toMatchObject({ "to/a.txt": 3 });
  });
});

test("a sync between connections copies, replaces and deletes", async () => {
  const items = toItems({ "from/": "", "from/a.txt": "new", "from/b.txt": "b" });
  const away = toItems({ "to/": "", "to/a.txt": "older", "to/c.txt": "c" });
  await inWork("sync", { items, away }, async (at) => {
    const ran = await at.go("home:/from away:/to --delete --yes --json=item,action");
    expect(ran.code, ran.err).toBe(0);
    expect(ran.json()).toEqual([
      { item: "a.txt", action: "replace" },
      { item: "b.txt", action: "copy" },
      { item: "c.txt", action: "delete" },
    ]);
    expect(stored(at.away)).toEqual({ "to/": 0, "to/a.txt": 3, "to/b.txt": 1 });
    expect(at.requests.map(({ method, path }) => `${method} ${path}`)).toContain(
      "PUT /api/cloud/connections/c2/items/batch",
    );
    const overlapping = await at.go("home:/ home:/from --json");
    expect(overlapping.error()).toMatchObject({ code: "usage" });
  });
});
