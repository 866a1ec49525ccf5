import { expect } from "vitest";
import type { Behaviour } from "../cloud-provider.suite.ts";
import { calm, list, mkdir, names, put, remove, tree } from "./acting.ts";

/** Making folders. */
export const makingBehaviours: readonly Behaviour[] = [
  {
    number: 19,
    title: "a new folder is listed, empty, and usable as a parent at once",
    async run({ provider }) {
      const outer = await mkdir(provider, "", "outer");
      const inner = await mkdir(provider, outer.id, "inner");
      expect(await list(provider, inner.id)).toEqual([]);
      await put(provider, inner.id, "file.txt", "x");
      expect(await tree(provider)).toEqual({
        "outer/": "",
        "outer/inner/": "",
        "outer/inner/file.txt": "x",
      });
    },
  },
  {
    number: 20,
    title: "a name that a folder or a file has is a conflict, and nothing changes",
    async run({ provider }) {
      const folder = await mkdir(provider, "", "taken");
      await put(provider, folder.id, "inside", "x");
      await put(provider, "", "file", "y");
      const before = await tree(provider);
      for (const name of ["taken", "file"])
        expect((await provider.createFolder({ parent: "", name, signal: calm })).kind).toBe(
          "conflict",
        );
      expect(await tree(provider)).toEqual(before);
    },
  },
  {
    number: 21,
    title: "a parent that is gone is stale, and is not made again",
    async run({ provider, other }) {
      const parent = await mkdir(provider, "", "parent");
      expect((await remove(other, parent)).kind).toBe("ok");
      const outcome = await provider.createFolder({
        parent: parent.id,
        name: "child",
        signal: calm,
      });
      expect(outcome.kind).toBe("stale");
      expect(await tree(provider)).toEqual({});
    },
  },
  {
    number: 22,
    title: "of two that make one name at once, one succeeds",
    async run({ provider, other }) {
      const kinds = await Promise.all(
        [provider, other, provider, other].map(
          async (client) =>
            (await client.createFolder({ parent: "", name: "wanted", signal: calm })).kind,
        ),
      );
      expect(kinds.filter((kind) => kind === "ok")).toHaveLength(1);
      expect(kinds.filter((kind) => kind === "conflict")).toHaveLength(3);
      expect(await names(provider, "")).toEqual(["wanted"]);
    },
  },
  {
    number: 23,
    title: "a lost answer to a folder that was made is success, and there is one folder",
    needs: ["loseNextAnswer"],
    async run({ provider, faults }) {
      faults.loseNextAnswer?.();
      expect((await provider.createFolder({ parent: "", name: "wanted", signal: calm })).kind).toBe(
        "ok",
      );
      expect(await names(provider, "")).toEqual(["wanted"]);
    },
  },
];
