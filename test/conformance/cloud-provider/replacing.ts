import { Readable } from "node:stream";
import { expect } from "vitest";
import type { CloudProvider } from "../../../storage/cloud/provider.ts";
import type { ItemOutcome, ProviderItem } from "../../../storage/cloud/item.ts";
import { replaceFile } from "../../../storage/cloud/replacing.ts";
import { createLocks } from "../../../storage/locks.ts";
import type { Behaviour } from "../cloud-provider.suite.ts";
import {
  calm,
  get,
  inChunks,
  list,
  mkdir,
  pattern,
  put,
  remove,
  same,
  stat,
  tree,
} from "./acting.ts";

const SIZES = [0, 1, 65_537, 1_500_000];
let ids = 0;
const deps = {
  home: "suite",
  newId: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, "0")}`,
  locks: createLocks(),
};

async function outcomeOf(
  provider: CloudProvider,
  item: ProviderItem,
  content: Readable,
  size: number | undefined,
  etag = item.etag,
): Promise<ItemOutcome | string> {
  try {
    return await replaceFile(
      provider,
      {
        id: item.id,
        expected: { etag, kind: "file" },
        content,
        size,
        contentType: undefined,
        signal: calm,
      },
      deps,
    );
  } catch (error) {
    return error instanceof Error ? error.message : "thrown";
  }
}

/** Replaces a file with bytes that are known. */
function replace(
  provider: CloudProvider,
  item: ProviderItem,
  bytes: Buffer,
  etag = item.etag,
): Promise<ItemOutcome | string> {
  const content = Readable.from(inChunks(bytes), { objectMode: false });
  return outcomeOf(provider, item, content, bytes.length, etag);
}

function kindOf(outcome: ItemOutcome | string): string {
  return typeof outcome === "string" ? outcome : outcome.kind;
}

/** Replacing files under their etag. */
export const replacingBehaviours: readonly Behaviour[] = [
  {
    number: 59,
    title: "a file is replaced by bytes of every length, under its name and with a new etag",
    async run({ provider, other }, { uploadSizes = SIZES }) {
      const folder = await mkdir(provider, "", "folder");
      let item = await put(provider, folder.id, "report & co.txt", "first");
      for (const size of uploadSizes) {
        const bytes = pattern(size, size + 7);
        const replaced = await replace(provider, item, bytes);
        if (typeof replaced === "string" || replaced.kind !== "ok")
          throw new Error(JSON.stringify(replaced));
        expect(replaced.item).toMatchObject({ name: "report & co.txt", parent: folder.id, size });
        expect(replaced.item.version).not.toBe(item.version);
        same(await get(other, replaced.item.id), bytes);
        if (provider.replace !== undefined && provider.capabilities.ids === "stable")
          expect(replaced.item.id).toBe(item.id);
        item = await stat(provider, replaced.item.id);
        expect(item.etag).toBe(replaced.item.etag);
      }
      expect(await list(provider, folder.id)).toHaveLength(1);
    },
  },
  {
    number: 60,
    title: "a file that has changed, is gone or has become a folder is not replaced",
    async run({ provider, other, overwrite }) {
      const item = await put(provider, "", "file.txt", "mine");
      expect(kindOf(await replace(provider, item, Buffer.from("new"), "another"))).toBe("stale");
      await overwrite(item.id, Buffer.from("theirs, and longer"));
      expect(kindOf(await replace(provider, item, Buffer.from("new")))).toBe("stale");
      expect(kindOf(await replace(provider, item, pattern(1_500_000)))).toBe("stale");
      expect(await tree(provider)).toEqual({ "file.txt": "theirs, and longer" });
      const now = await stat(provider, item.id);
      expect((await remove(other, now)).kind).toBe("ok");
      expect(kindOf(await replace(provider, now, Buffer.from("new")))).toBe("stale");
      expect(await tree(provider)).toEqual({});
      const folder = await mkdir(provider, "", "folder");
      expect(kindOf(await replace(provider, folder, Buffer.from("new")))).not.toBe("ok");
      expect(await tree(provider)).toEqual({ "folder/": "" });
    },
  },
  {
    number: 61,
    title: "a change by another client while the bytes arrive is kept",
    async run({ provider, overwrite }) {
      const item = await put(provider, "", "file.txt", "mine");
      const gate = Promise.withResolvers<void>();
      const reached = Promise.withResolvers<void>();
      const content = Readable.from(
        (async function* () {
          yield pattern(1_200_000);
          reached.resolve();
          await gate.promise;
          yield pattern(300_000);
        })(),
        { objectMode: false },
      );
      const replacing = outcomeOf(provider, item, content, 1_500_000);
      await reached.promise;
      await overwrite(item.id, Buffer.from("theirs, and longer"));
      gate.resolve();
      expect(kindOf(await replacing)).toBe("stale");
      expect(await tree(provider)).toEqual({ "file.txt": "theirs, and longer" });
    },
  },
  {
    number: 62,
    title: "a source that fails or has another length leaves the file as it was",
    async run({ provider }) {
      const item = await put(provider, "", "file.txt", "mine");
      for (const [length, declared] of [
        [100, 200],
        [1_400_000, 1_500_000],
        [1_500_000, 1_400_000],
      ] as const) {
        const content = Readable.from(inChunks(pattern(length)), { objectMode: false });
        const now = await stat(provider, item.id);
        expect(kindOf(await outcomeOf(provider, now, content, declared))).not.toBe("ok");
        expect(content.destroyed).toBe(true);
      }
      const failing = Readable.from(
        (async function* () {
          yield pattern(100_000);
          throw new Error("the client went away");
        })(),
        { objectMode: false },
      );
      // A session that was started and discarded may have changed the etag.
      const now = await stat(provider, item.id);
      expect(await outcomeOf(provider, now, failing, 400_000)).toBe("the client went away");
      expect(await tree(provider)).toEqual({ "file.txt": "mine" });
    },
  },
  {
    number: 63,
    title: "a lost answer to a replacement is success, once",
    needs: ["loseNextAnswer"],
    async run({ provider, faults }) {
      const item = await put(provider, "", "file.txt", "mine");
      faults.loseNextAnswer?.();
      expect(kindOf(await replace(provider, item, Buffer.from("replaced")))).toBe("ok");
      expect(await tree(provider)).toEqual({ "file.txt": "replaced" });
    },
  },
];
