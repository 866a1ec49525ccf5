import { expect } from "vitest";
import type { Behaviour } from "../cloud-provider.suite.ts";
import { done, list, mkdir, move, names, put, remove, tree } from "./acting.ts";

const needsFolderMove = (capabilities: { folderMove: boolean }) =>
  capabilities.folderMove ? undefined : "folders cannot be moved here";

/** Moving. */
export const movingBehaviours: readonly Behaviour[] = [
  {
    number: 40,
    title: "a file and a folder to another folder, to the root and back",
    async run({ provider }) {
      const target = await mkdir(provider, "", "target");
      const file = await put(provider, "", "file.txt", "x");
      const there = done(await move(provider, file, target.id));
      expect(there).toMatchObject({ parent: target.id, name: "file.txt" });
      const back = done(await move(provider, there, ""));
      expect(back.parent).toBe("");
      expect(done(await move(provider, back, "")).id).toBe(back.id);
      if (provider.capabilities.folderMove) {
        const folder = await mkdir(provider, "", "folder");
        await put(provider, folder.id, "inside", "y");
        const moved = done(await move(provider, folder, target.id));
        expect(await names(provider, moved.id)).toEqual(["inside"]);
        const again = done(await move(provider, moved, ""));
        expect(await names(provider, again.id)).toEqual(["inside"]);
        expect((await remove(provider, again)).kind).toBe("ok");
      }
      expect(await tree(provider)).toEqual({ "target/": "", "file.txt": "x" });
    },
  },
  {
    number: 41,
    title: "a taken name is a conflict, a missing destination stale, a file no destination",
    async run({ provider, other }) {
      const target = await mkdir(provider, "", "target");
      const gone = await mkdir(provider, "", "gone");
      await put(provider, target.id, "file.txt", "taken");
      const file = await put(provider, "", "file.txt", "x");
      const plain = await put(provider, "", "plain.txt", "y");
      expect((await remove(other, gone)).kind).toBe("ok");
      expect((await move(provider, file, target.id)).kind).toBe("conflict");
      expect((await move(provider, file, gone.id)).kind).toBe("stale");
      expect((await move(provider, file, plain.id)).kind).toBe("invalid_destination");
      expect(await tree(provider)).toEqual({
        "target/": "",
        "target/file.txt": "taken",
        "file.txt": "x",
        "plain.txt": "y",
      });
    },
  },
  {
    number: 42,
    title: "into itself or below itself is not a destination, and nothing is lost",
    unless: needsFolderMove,
    async run({ provider }) {
      const folder = await mkdir(provider, "", "folder");
      const inner = await mkdir(provider, folder.id, "inner");
      const deep = await mkdir(provider, inner.id, "deep");
      await put(provider, deep.id, "file.txt", "x");
      const before = await tree(provider);
      for (const destination of [folder.id, inner.id, deep.id])
        expect((await move(provider, folder, destination)).kind).toBe("invalid_destination");
      expect(await tree(provider)).toEqual(before);
    },
  },
  {
    number: 43,
    title:
      "a wrong guard and another item of the name are stale; two moves of one item end in one place",
    async run({ provider, other }) {
      const [a, b] = [await mkdir(provider, "", "a"), await mkdir(provider, "", "b")];
      const file = await put(provider, "", "file.txt", "x");
      if (provider.capabilities.guardedRename !== "no") {
        expect((await move(provider, file, a.id, { etag: "another" })).kind).toBe("stale");
        expect(await names(provider, "")).toEqual(["a", "b", "file.txt"]);
      }
      const kinds = (await Promise.all([move(provider, file, a.id), move(other, file, b.id)])).map(
        ({ kind }) => kind,
      );
      expect(kinds.filter((kind) => kind === "ok").length).toBeGreaterThan(0);
      const found = [
        ...(await list(provider, a.id)),
        ...(await list(provider, b.id)),
        ...(await list(provider, "")),
      ].filter((item) => item.kind === "file");
      expect(found.map((item) => item.name)).toEqual(["file.txt"]);
    },
  },
  {
    number: 44,
    title:
      "two items that are moved onto one name at once: one success, one conflict, no bytes lost",
    unless: (capabilities) => (capabilities.duplicateNames ? "names may repeat here" : undefined),
    async run({ provider, other }) {
      const folders = [await mkdir(provider, "", "one"), await mkdir(provider, "", "two")];
      const target = await mkdir(provider, "", "target");
      const files = await Promise.all(
        folders.map((folder) => put(provider, folder.id, "same.txt", folder.name)),
      );
      const outcomes = await Promise.all(
        files.map((file, at) => move(at === 0 ? provider : other, file, target.id)),
      );
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["conflict", "ok"]);
      const contents = Object.values(await tree(provider)).filter((content) => content !== "");
      expect(contents.sort()).toEqual(["one", "two"]);
    },
  },
  {
    number: 45,
    title: "folders that cannot be moved say so, and nothing is lost",
    unless: (capabilities) => (capabilities.folderMove ? "folders can be moved here" : undefined),
    async run({ provider }) {
      const target = await mkdir(provider, "", "target");
      const folder = await mkdir(provider, "", "folder");
      await put(provider, folder.id, "inside", "x");
      const before = await tree(provider);
      expect((await move(provider, folder, target.id)).kind).toBe("unsupported");
      expect(await tree(provider)).toEqual(before);
    },
  },
];
