import { expect, test } from "vitest";
import type { VaultCaller } from "../../../../../daemon/vault/caller.ts";
import { FILES_AT_ONCE } from "../../../../../daemon/vault/cloud/batches/batch-limits.ts";
import { createBatchFolders } from "../../../../../daemon/vault/cloud/batches/batch-folders.service.ts";
import type { EnsureFolderResult } from "../../../../../daemon/vault/cloud/changes/changes.service.ts";
import type { ConnectionId } from "../../../../../storage/tables/vault/ids.ts";
import { createTestLog } from "../../../../support/cloud/vault-cloud.ts";

/** Creates folders in a storage that answers when the test says so. */
function createBatch() {
  const begun: string[] = [];
  const waiting: (() => void)[] = [];
  const service = createBatchFolders(
    { log: createTestLog([]), beginBatch: () => () => undefined },
    { own: async () => ({}) as never, open: async () => ({}) as never },
    {
      async ensureFolder(_caller, _connection, { parent_ref: parent, name }) {
        const id = parent === null || parent === undefined ? name : `${parent}/${name}`;
        begun.push(id);
        await new Promise<void>((resolve) => waiting.push(resolve));
        return { kind: "folder", item: { id }, parentRef: parent } as EnsureFolderResult;
      },
    },
  );
  return {
    begun,
    begin: (folders: Parameters<typeof service.begin>[2]) =>
      service.begin({} as VaultCaller, "c1" as ConnectionId, folders),
    /** Lets every call that waits return. */
    async answer() {
      for (const resolve of waiting.splice(0)) resolve();
      await new Promise(setImmediate);
    },
  };
}

test("siblings are created at the same time, up to a bound, parents before children, and reported in order", async () => {
  const { begun, begin, answer } = createBatch();
  const siblings = Array.from({ length: FILES_AT_ONCE + 3 }, (_, at) => ({
    parent_index: 0,
    name: `${at}`,
  }));
  const batch = await begin([{ name: "top" }, ...siblings, { parent_index: 1, name: "deep" }]);
  const reported: number[] = [];
  const running = batch.run(async ({ index }) => void reported.push(index), neverAborted);
  await new Promise(setImmediate);
  expect(begun).toEqual(["top"]);
  await answer();
  expect(begun).toHaveLength(1 + FILES_AT_ONCE);
  await answer();
  expect(begun.slice(1 + FILES_AT_ONCE)).toEqual(["top/12", "top/13", "top/14", "top/0/deep"]);
  await answer();
  await running;
  expect(reported).toEqual(Array.from({ length: siblings.length + 2 }, (_, at) => at));
});

test("a client that leaves ends the batch after the folders under way", async () => {
  const { begun, begin, answer } = createBatch();
  const left = new AbortController();
  const batch = await begin([{ name: "a" }, { parent_index: 0, name: "b" }, { name: "c" }]);
  const reported: number[] = [];
  const running = batch.run(async ({ index }) => void reported.push(index), left.signal);
  await new Promise(setImmediate);
  left.abort();
  await answer();
  await running;
  expect(begun).toEqual(["a", "c"]);
  expect(reported).toEqual([]);
});

const neverAborted = new AbortController().signal;
