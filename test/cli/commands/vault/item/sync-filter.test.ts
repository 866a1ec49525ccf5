import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createSyncFilter } from "../../../../../cli/commands/vault/item/sync-filter.ts";
import { toItems } from "../../../support/fake-storage.ts";
import { inWork, type InWork } from "../../../support/in-work.ts";

const stored = ({ storage }: InWork) => storage.items.map(({ id }) => id).toSorted();

describe("the rules of a sync", () => {
  test("are those of gitignore, in subfolders too, and the last match wins", async () => {
    const filter = createSyncFilter({});
    filter.addRules("one", "", "# comment\n*.log\nbuild/\n/top\n!keep.log\n\\#odd\n");
    filter.addRules("one", "a [x]", "!b.log\n/only\ndeep/*.txt\n\\!bang\n");
    const ignored = (path: string) => filter.isIgnored(path.replace(/\/$/, ""), path.endsWith("/"));
    const isIgnored = {
      "x.log": true,
      "keep.log": false,
      "sub/y.log": true,
      "build/": true,
      build: false,
      top: true,
      "sub/top": false,
      "#odd": true,
      "a [x]/b.log": false,
      "a [x]/c.log": true,
      "a [x]/only": true,
      "a [x]/sub/only": false,
      "a [x]/deep/z.txt": true,
      "a [x]/sub/deep/z.txt": false,
      "a [x]/!bang": true,
      "a [x]/sub/!bang": true,
      "deep/z.txt": false,
      "X.LOG": false,
    };
    for (const [path, expected] of Object.entries(isIgnored))
      expect([path, ignored(path)]).toEqual([path, expected]);
  });

  test("of either side count at both, and those of the command line have precedence", async () => {
    const filter = createSyncFilter({
      exclude: ["*.tmp", "!x"],
      include: ["b.log", "c.tmp"],
    });
    filter.addRules("one", "", "*.log\n");
    filter.addRules("other", "sub", "*.bak\n!a.log\n");
    expect(filter.isIgnored("a.log", false)).toBe(true);
    expect(filter.isIgnored("sub/a.log", false)).toBe(true);
    expect(filter.isIgnored("b.log", false)).toBe(false);
    expect(filter.isIgnored("sub/a.bak", false)).toBe(true);
    expect(filter.isIgnored("a.bak", false)).toBe(false);
    expect(filter.isIgnored("a.tmp", false)).toBe(true);
    expect(filter.isIgnored("c.tmp", false)).toBe(false);
  });

  test("apply to a name in any Unicode form", async () => {
    const filter = createSyncFilter({ exclude: ["caf\u00e9"] });
    expect(filter.isIgnored("cafe\u0301", false)).toBe(true);
  });
});

test("an ignored file is not uploaded and not deleted, and its folder stays", async () => {
  const files = {
    "album/.croftignore": "*.log\n",
    "album/a.txt": "a",
    "album/a.log": "a",
    "album/sub/.croftignore": "/private/\n",
    "album/sub/private/x": "x",
    "album/sub/y": "y",
    "album/tmp/z": "z",
  };
  // The target has rules of its own, which its own files and those of the source obey.
  const items = toItems({
    "to/": "",
    "to/.croftignore": "*.log\n*.secret\n",
    "to/old/": "",
    "to/old/debug.log": "d",
    "to/old/plain": "p",
    "to/gone/": "",
    "to/gone/plain": "p",
    "to/my.secret": "s",
    "to/tmp/": "",
    "to/tmp/cached": "c",
  });
  await inWork("sync", { items, files: { ...files, "album/b.secret": "b" } }, async (at) => {
    const ran = await at.go("album home:/to --delete --yes --exclude /tmp --json");
    expect(ran.code).toBe(0);
    expect(stored(at)).toEqual([
      "to",
      "to/.croftignore",
      "to/a.txt",
      "to/my.secret",
      "to/old",
      "to/old/debug.log",
      "to/sub",
      "to/sub/.croftignore",
      "to/sub/y",
      "to/tmp",
      "to/tmp/cached",
    ]);
    const taken = await at.go("album home:/to --include a.log --json=item");
    expect(taken.json()).toEqual([{ item: "a.log" }, { item: "b.secret" }, { item: "tmp/z" }]);
  });
});

test("an ignored file is neither downloaded nor deleted on this machine", async () => {
  const items = toItems({
    "from/": "",
    "from/.croftignore": "cache/\n",
    "from/cache/": "",
    "from/cache/big": "big",
    "from/a": "a",
  });
  const files = { "here/cache/own": "own", "here/sub/cache/own": "own", "here/sub/b": "b" };
  await inWork("sync", { items, files }, async (at) => {
    const ran = await at.go("home:/from here --delete --yes --json");
    expect(ran.code).toBe(0);
    const left = await readdir(join(at.work, "here"), { recursive: true });
    expect(left.toSorted()).toEqual([
      ".croftignore",
      "a",
      "cache",
      "cache/own",
      "sub",
      "sub/cache",
      "sub/cache/own",
    ]);
  });
});
