import { Readable } from "node:stream";
import { expect } from "vitest";
import type { CloudProvider } from "../../../storage/cloud/provider.ts";
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
  tryUpload,
} from "./acting.ts";

const SIZES = [0, 1, 65_535, 65_536, 65_537, 1_000_000];

async function outcomeOf(
  provider: CloudProvider,
  content: Readable,
  size: number | undefined,
): Promise<string> {
  try {
    const outcome = await provider.upload({
      parent: "",
      name: "wanted",
      content,
      size,
      contentType: "text/plain",
      signal: calm,
    });
    return outcome.kind;
  } catch (error) {
    return error instanceof Error ? `thrown: ${error.message}` : "thrown";
  }
}

/** Uploading. */
export const uploadingBehaviours: readonly Behaviour[] = [
  {
    number: 24,
    title: "files of every length arrive whole",
    async run({ provider, other }, { uploadSizes = SIZES, capabilities }) {
      for (const size of uploadSizes) {
        const bytes = pattern(size, size);
        const item = await put(provider, "", `${size}.bin`, bytes);
        expect(item).toMatchObject({ kind: "file", size, name: `${size}.bin` });
        same(await get(other, item.id), bytes);
      }
      if (capabilities.uploadNeedsSize) return;
      const content = Readable.from(inChunks(pattern(300_000)), { objectMode: false });
      expect(await outcomeOf(provider, content, undefined)).toBe("ok");
    },
  },
  {
    number: 25,
    title: "a taken name is a conflict; the old bytes stay and nothing else is left",
    async run({ provider }) {
      await put(provider, "", "taken.txt", "old");
      await mkdir(provider, "", "folder");
      expect((await tryUpload(provider, "", "taken.txt", "new")).kind).toBe("conflict");
      expect((await tryUpload(provider, "", "folder", "new")).kind).toBe("conflict");
      expect(await tree(provider)).toEqual({ "taken.txt": "old", "folder/": "" });
    },
  },
  {
    number: 26,
    title: "of several that upload one name at once, one wins and its bytes are whole",
    async run({ provider, other }) {
      const contents = [1, 2, 3, 4].map((seed) => pattern(200_000, seed));
      const outcomes = await Promise.all(
        contents.map((bytes, at) =>
          tryUpload(at % 2 === 0 ? provider : other, "", "wanted", bytes),
        ),
      );
      const winners = outcomes.flatMap((outcome, at) => (outcome.kind === "ok" ? [at] : []));
      expect(winners).toHaveLength(1);
      expect(outcomes.filter(({ kind }) => kind === "conflict")).toHaveLength(3);
      const [item, ...more] = await list(provider, "");
      expect(more).toEqual([]);
      same(await get(provider, item?.id ?? ""), contents[winners[0] ?? 0] ?? Buffer.alloc(0));
    },
  },
  {
    number: 27,
    title: "a source that is shorter or longer than declared makes no item",
    async run({ provider }) {
      for (const [length, declared] of [
        [100, 200],
        [300_000, 400_000],
        [200, 100],
        [400_000, 300_000],
      ] as const) {
        const content = Readable.from(inChunks(pattern(length)), { objectMode: false });
        expect(await outcomeOf(provider, content, declared)).not.toBe("ok");
        expect(content.destroyed).toBe(true);
      }
      expect(await tree(provider)).toEqual({});
    },
  },
  {
    number: 28,
    title: "a source that fails midway makes no item, and its error comes as it was",
    async run({ provider }) {
      const content = Readable.from(
        (async function* () {
          yield pattern(100_000);
          throw new Error("the client went away");
        })(),
        { objectMode: false },
      );
      expect(await outcomeOf(provider, content, 400_000)).toBe("thrown: the client went away");
      expect(await tree(provider)).toEqual({});
    },
  },
  {
    number: 29,
    title: "a lost answer to an upload is success and no duplicate",
    needs: ["loseNextAnswer"],
    async run({ provider, faults }) {
      faults.loseNextAnswer?.();
      expect((await tryUpload(provider, "", "wanted", "bytes")).kind).toBe("ok");
      expect(await tree(provider)).toEqual({ wanted: "bytes" });
    },
  },
  {
    number: 30,
    title:
      "a full storage answers quota_exceeded, at the start and in the middle, and nothing is left",
    needs: ["fill"],
    async run({ provider, faults }) {
      for (const after of [0, 300_000]) {
        faults.fill?.(after);
        expect((await tryUpload(provider, "", "wanted", pattern(900_000))).kind).toBe(
          "quota_exceeded",
        );
        faults.clear?.();
        expect(await tree(provider)).toEqual({});
      }
    },
  },
  {
    number: 31,
    title: "a folder that is deleted while bytes arrive is stale, and nothing is left",
    async run({ provider, other }) {
      const folder = await mkdir(provider, "", "folder");
      const gate = Promise.withResolvers<void>();
      const content = Readable.from(
        (async function* () {
          yield pattern(200_000);
          await gate.promise;
          yield pattern(200_000);
        })(),
        { objectMode: false },
      );
      const uploading = provider.upload({
        parent: folder.id,
        name: "wanted",
        content,
        size: 400_000,
        contentType: undefined,
        signal: calm,
      });
      expect((await remove(other, folder)).kind).toBe("ok");
      gate.resolve();
      expect((await uploading).kind).toBe("stale");
      expect(await tree(provider)).toEqual({});
    },
  },
  {
    number: 32,
    title: "a storage that alters what it takes: success, with what it really holds",
    needs: ["alterUploads"],
    async run({ provider, faults }) {
      faults.alterUploads?.();
      const item = await put(provider, "", "file.docx", pattern(50_000));
      const held = await stat(provider, item.id);
      expect([item.size, item.version]).toEqual([held.size, held.version]);
    },
  },
];
