import { createHash } from "node:crypto";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, toCliError } from "../../../errors.ts";
import type { Progress } from "../../../output/progress.ts";
import { type Outcome, runTasks, type Task } from "../../../support/batch.ts";
import type { FoundItem, ItemFinder } from "../../../support/items.ts";
import { copyFile, findFile } from "./copy.ts";
import {
  type CopiedTree,
  copyTree,
  expectTree,
  PLATFORM,
  toAddress,
  type TreeCopy,
} from "./copy-tree.ts";
import { SMALL_DOWNLOAD_BYTES_MAX, createDownloadBatches } from "./download-batch.ts";
import { deleteSeen, deleteSeenFolder } from "./delete-seen.ts";
import { readCurrent } from "./lookup.ts";
import { itemOf } from "./remote-origin.ts";
import type { SyncedFolder } from "./sync-plan.ts";
import { BATCHED_AT_ONCE, createLimit, type Retries } from "./transfer.ts";

/** Large files that are read back at one time. */
const FILES_AT_ONCE = 4;

/** An item that was moved. */
export type MovedItem = Readonly<{
  kind: "moved";
  provider_item_id: string;
  parent_ref: string;
}>;

/**
 * Moves a file to another connection: copies it, reads the copy back and compares the hashes, and only then deletes the
 * copied version of the original. A failure before the end leaves the original.
 * @throws CliError `stale` when the original has changed since it was listed; it stays, and so does the copy
 */
export async function moveAcross(
  cli: CliContext,
  progress: Progress,
  word: string,
  finder: ItemFinder,
  target: FoundItem,
): Promise<MovedItem> {
  const found = await findFile(cli, finder, word);
  const source = { ...found, item: (await readCurrent(cli, found, found.item)) ?? found.item };
  const { copied, sha256 } = await copyFile(cli, progress, source, target);
  if ((await hashItem(cli, target.connection.id, copied.provider_item_id)) !== sha256)
    throw new CliError("provider_failed", `the copy of ${word} differs; the original was kept`, {
      service: "vault",
      hint: `delete the copy, ${copied.name}, and repeat`,
    });
  await deleteSeen(cli, source.connection.id, source.item, word).catch((error: unknown) => {
    if (!(error instanceof CliError) || error.code !== "stale") throw error;
    throw new CliError("stale", `${word} has changed while it was copied; it was not deleted`, {
      ...error.details,
      hint: `delete the copy of the earlier version, ${copied.name}, and repeat`,
    });
  });
  return { kind: "moved", provider_item_id: copied.provider_item_id, parent_ref: target.id };
}

/**
 * Moves a folder to another connection: copies everything in it, reads every copy back and compares the hashes, and
 * only then deletes the original, if nothing in it has changed meanwhile. After a failure the original stays, the
 * outcomes are those of the failed files, and a second run continues.
 */
export async function moveTreeAcross(
  retries: Retries,
  progress: Progress,
  plan: TreeCopy,
  parentId: string,
): Promise<readonly Outcome<MovedItem>[]> {
  expectTree(progress, plan);
  progress.expectNoMore();
  const copied = await copyTree(retries, progress, plan);
  const failed = [...copied.outcomes, ...(await verifyCopies(retries, plan, copied))].filter(
    ({ failure }) => failure !== undefined,
  );
  if (failed.length > 0)
    return failed.map(({ item, failure }) => ({ item, value: undefined, failure }));
  const item = plan.word;
  try {
    const { source, sourceTree: before } = plan;
    await deleteSeenFolder(
      retries.cli,
      { ...source, etag: plan.etag },
      { before, above: "", platform: PLATFORM },
      plan.word,
    );
  } catch (error) {
    return [{ item, value: undefined, failure: toCliError(error) }];
  }
  const value: MovedItem = {
    kind: "moved",
    provider_item_id: copied.target.id,
    parent_ref: parentId,
  };
  return [{ item, value, failure: undefined }];
}

/** Downloads all copies and compares them with their originals. */
async function verifyCopies(
  retries: Retries,
  plan: TreeCopy,
  { target, copies, hashes }: CopiedTree,
): Promise<readonly Outcome<object>[]> {
  const hashAt = {
    source: createHasher(retries, plan.source),
    target: createHasher(retries, target),
  };
  const files = plan.steps.filter(({ action }) => action === "copy" || action === "keep");
  const checks = files.map((step): Task<object> => ({
    item: toAddress(plan, step.path),
    async run() {
      const { provider_item_id: id, size } = itemOf(step);
      const copyId = copies.get(step.path) ?? step.target?.item?.provider_item_id;
      // A file that could not be copied already has an outcome.
      if (copyId === undefined) return {};
      const sent = hashes.get(id) ?? (await hashAt.source(id, size));
      if ((await hashAt.target(copyId, size)) === sent) return {};
      throw new CliError(
        "provider_failed",
        `the copy of ${step.path} differs; the original was kept`,
        { service: "vault", hint: "delete the copy and repeat" },
      );
    },
  }));
  return runTasks(checks, BATCHED_AT_ONCE);
}

/** Returns a function that reads a file and returns its SHA-256. */
function createHasher(
  { cli, repeat }: Retries,
  { connectionId }: SyncedFolder,
): (id: string, size: number | null) => Promise<string> {
  const batches = createDownloadBatches(cli, connectionId);
  const alone = createLimit(FILES_AT_ONCE);
  return async (id, size) => {
    if ((size ?? Infinity) > SMALL_DOWNLOAD_BYTES_MAX)
      return alone(() => hashItem(cli, connectionId, id));
    const bytes = await repeat(connectionId, () => batches.download(id));
    return createHash("sha256").update(bytes).digest("hex");
  };
}

/** Downloads an item and returns its SHA-256. */
async function hashItem(cli: CliContext, connectionId: string, id: string): Promise<string> {
  const params = { connection_id: connectionId, item_id: id };
  const { stream } = await cli.client.download(vault.downloadItem, { params });
  const hash = createHash("sha256");
  for await (const chunk of stream as AsyncIterable<Uint8Array>) hash.update(chunk);
  return hash.digest("hex");
}
