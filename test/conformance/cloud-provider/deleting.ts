import { expect } from "vitest";
import type { Behaviour } from "../cloud-provider.suite.ts";
import { calm, mkdir, put, remove, tree } from "./acting.ts";

/** Deleting, and the room that is left. */
export const deletingBehaviours: readonly Behaviour[] = [
  {
    number: 46,
    title: "into the trash, from where it can be had back; for good where that is possible",
    async run({ provider, restoreLast }) {
      const folder = await mkdir(provider, "", "folder");
      await put(provider, folder.id, "inside.txt", "x");
      const trashed = await remove(provider, folder);
      expect(trashed).toEqual({
        kind: "ok",
        how: provider.capabilities.trash ? "trashed" : "permanent",
      });
      expect(await tree(provider)).toEqual({});
      if (provider.capabilities.trash && restoreLast !== undefined) {
        await restoreLast();
        expect(await tree(provider)).toEqual({ "folder/": "", "folder/inside.txt": "x" });
      }
      const file = await put(provider, "", "file.txt", "y");
      const gone = await remove(provider, file, { permanently: true });
      if (provider.capabilities.permanentDelete)
        expect(gone).toEqual({ kind: "ok", how: "permanent" });
      else expect(gone.kind).toBe("unsupported");
    },
  },
  {
    number: 47,
    title: "a folder with content; a wrong guard and a vanished item are stale",
    async run({ provider, other }) {
      const folder = await mkdir(provider, "", "folder");
      const inner = await mkdir(provider, folder.id, "inner");
      await put(provider, inner.id, "deep.txt", "x");
      const file = await put(provider, "", "file.txt", "y");
      if (provider.capabilities.guardedDelete !== "no")
        expect((await remove(provider, file, { expected: { etag: "another" } })).kind).toBe(
          "stale",
        );
      expect(await tree(provider)).toHaveProperty("file.txt", "y");
      expect((await remove(provider, folder)).kind).toBe("ok");
      expect((await remove(other, file)).kind).toBe("ok");
      expect((await remove(provider, file)).kind).toBe("stale");
      const permanent = await mkdir(provider, "", "permanent");
      const below = await mkdir(provider, permanent.id, "below");
      await put(provider, below.id, "deep.txt", "x");
      const outcome = await remove(provider, permanent, {
        permanently: provider.capabilities.permanentDelete,
      });
      expect(outcome.kind).toBe("ok");
      expect(await tree(provider)).toEqual({});
    },
  },
  {
    number: 48,
    title: "a folder that can be deleted only in part is no success",
    needs: ["lockChild"],
    async run({ provider, faults }) {
      const folder = await mkdir(provider, "", "folder");
      await put(provider, folder.id, "free.txt", "x");
      const locked = await put(provider, folder.id, "locked.txt", "y");
      faults.lockChild?.(locked.id);
      expect((await remove(provider, folder)).kind).not.toBe("ok");
      faults.clear?.();
      expect(await tree(provider)).toHaveProperty("folder/locked.txt", "y");
    },
  },
  {
    number: 49,
    title: "the quota is reported in numbers or not at all",
    async run({ provider }) {
      const outcome = await provider.quota({ signal: calm });
      if (outcome.kind !== "ok") throw new Error(outcome.kind);
      for (const number of [outcome.usedBytes, outcome.totalBytes])
        if (number !== undefined) expect(number).toBeGreaterThanOrEqual(0);
      if (outcome.totalBytes !== undefined) expect(outcome.totalBytes).toBeGreaterThan(0);
      const isKnown = outcome.usedBytes !== undefined || outcome.totalBytes !== undefined;
      expect(isKnown).toBe(provider.capabilities.quota);
    },
  },
];
