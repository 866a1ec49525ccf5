import { expect } from "vitest";
import type { Behaviour } from "../cloud-provider.suite.ts";
import { done, get, list, mkdir, names, put, remove, rename, stat, tree } from "./acting.ts";

/** Renaming. */
export const renamingBehaviours: readonly Behaviour[] = [
  {
    number: 33,
    title: "a file and a folder with content; children stay reachable",
    async run({ provider, other }) {
      const folder = await mkdir(provider, "", "folder");
      const inner = await mkdir(provider, folder.id, "inner");
      await put(provider, inner.id, "deep.txt", "deep");
      const file = await put(provider, "", "file.txt", "x");
      expect(done(await rename(provider, file, "renamed.txt"))).toMatchObject({
        name: "renamed.txt",
        parent: "",
        kind: "file",
      });
      const outcome = await rename(provider, folder, "renamed");
      if (!provider.capabilities.folderMove) {
        expect(outcome.kind).toBe("unsupported");
        return;
      }
      const [child] = await list(other, done(outcome).id);
      expect((await list(other, child?.id ?? "")).map((item) => item.name)).toEqual(["deep.txt"]);
      expect(await tree(provider)).toEqual({
        "renamed/": "",
        "renamed/inner/": "",
        "renamed/inner/deep.txt": "deep",
        "renamed.txt": "x",
      });
    },
  },
  {
    number: 34,
    title: "a wrong guard is stale and changes nothing; the right one works again and again",
    unless: (capabilities) =>
      capabilities.guardedRename === "no" ? "renames are not guarded here" : undefined,
    async run({ provider }) {
      const file = await put(provider, "", "file.txt", "x");
      const wrong = await rename(provider, file, "other.txt", { etag: "another" });
      expect(wrong.kind).toBe("stale");
      expect(await tree(provider)).toEqual({ "file.txt": "x" });
      const first = done(await rename(provider, file, "first.txt"));
      const second = done(await rename(provider, first, "second.txt"));
      expect(done(await rename(provider, second, "third.txt")).name).toBe("third.txt");
      expect(await tree(provider)).toEqual({ "third.txt": "x" });
    },
  },
  {
    number: 35,
    title:
      "content that changed after the listing is stale; a folder whose children changed is not",
    unless: (capabilities) =>
      capabilities.guardedRename === "no" ? "renames are not guarded here" : undefined,
    async run({ provider, other, overwrite }) {
      const folder = await mkdir(provider, "", "folder");
      const file = await put(provider, "", "file.txt", "old");
      await overwrite(file.id, Buffer.from("new, by another client"));
      await put(other, folder.id, "child.txt", "x");
      expect((await rename(provider, file, "renamed.txt")).kind).toBe("stale");
      if (!provider.capabilities.folderMove) return;
      expect((await rename(provider, folder, "renamed")).kind).toBe("ok");
      expect(await names(provider, "")).toEqual(["file.txt", "renamed"]);
    },
  },
  {
    number: 36,
    title: "a taken name is a conflict and both stay; the own name is success",
    async run({ provider }) {
      const folder = await mkdir(provider, "", "folder");
      const file = await put(provider, "", "file.txt", "1");
      await put(provider, "", "taken.txt", "2");
      await mkdir(provider, "", "taken");
      for (const name of ["taken.txt", "taken", "folder"])
        expect((await rename(provider, file, name)).kind).toBe("conflict");
      if (provider.capabilities.folderMove)
        for (const name of ["taken.txt", "taken", "file.txt"])
          expect((await rename(provider, folder, name)).kind).toBe("conflict");
      expect(done(await rename(provider, file, "file.txt")).id).toBe(file.id);
      expect(await tree(provider)).toEqual({
        "folder/": "",
        "taken/": "",
        "file.txt": "1",
        "taken.txt": "2",
      });
    },
  },
  {
    number: 37,
    title:
      "changing only the case or the normal form ends with the new spelling and the same content",
    async run({ provider }) {
      const file = await put(provider, "", "stra\u00dfe \u00e4.txt", "x");
      const upper = done(await rename(provider, file, "STRA\u00dfE \u00e4.TXT"));
      expect(await names(provider, "")).toEqual(["STRA\u00dfE \u00e4.TXT"]);
      const decomposed = done(await rename(provider, upper, "STRA\u00dfE a\u0308.TXT"));
      expect((await get(provider, decomposed.id)).toString()).toBe("x");
      expect((await list(provider, "")).map((item) => item.name)).toEqual([decomposed.name]);
      if (!provider.capabilities.folderMove) return;
      const folder = await mkdir(provider, "", "folder");
      await put(provider, folder.id, "inside", "y");
      const renamed = done(await rename(provider, folder, "FOLDER"));
      expect(await names(provider, renamed.id)).toEqual(["inside"]);
    },
  },
  {
    number: 38,
    title: "another item that took the name is stale",
    unless: (capabilities) =>
      capabilities.guardedRename === "no" ? "renames are not guarded here" : undefined,
    async run({ provider, other }) {
      const file = await put(provider, "", "file.txt", "mine");
      expect((await remove(other, file)).kind).toBe("ok");
      await put(other, "", "file.txt", "another");
      expect((await rename(provider, file, "renamed.txt")).kind).toBe("stale");
      expect(await tree(provider)).toEqual({ "file.txt": "another" });
    },
  },
  {
    number: 39,
    title: "a lost answer to a rename is success",
    needs: ["loseNextAnswer"],
    async run({ provider, faults }) {
      const file = await put(provider, "", "file.txt", "x");
      faults.loseNextAnswer?.();
      const renamed = done(await rename(provider, file, "renamed.txt"));
      expect(await stat(provider, renamed.id)).toMatchObject({ name: "renamed.txt" });
      expect(await tree(provider)).toEqual({ "renamed.txt": "x" });
    },
  },
];
