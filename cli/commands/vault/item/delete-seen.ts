import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import { toIfMatchHeader } from "../../../support/if-match.ts";
import type { WireItem } from "../../../support/items.ts";
import { isAsListed } from "./lookup.ts";
import { isUnchanged, readRemoteTree, type SyncedFolder, type Tree } from "./sync-plan.ts";

/**
 * Deletes the version of a file that was listed. The storage compares the etag, so a version that another client wrote
 * meanwhile stays. @throws CliError `stale`
 */
export async function deleteSeen(
  cli: CliContext,
  connectionId: string,
  item: WireItem,
  word: string,
): Promise<void> {
  if (item.etag === null && !(await isAsListed(cli, connectionId, item))) throw toChanged(word);
  await deleteByEtag(cli, connectionId, item, word);
}

async function deleteByEtag(
  cli: CliContext,
  connectionId: string,
  item: Pick<WireItem, "provider_item_id" | "etag">,
  word: string,
): Promise<void> {
  const params = { connection_id: connectionId, item_id: item.provider_item_id };
  // A storage without etags compares what the daemon listed last.
  const headers = item.etag === null ? {} : { "If-Match": toIfMatchHeader(item.etag) };
  try {
    await cli.client.call(vault.deleteItem, { params }, { headers });
  } catch (error) {
    if (error instanceof CliError && error.code === "stale") throw toChanged(word, error);
    throw error;
  }
}

/**
 * Deletes a folder whose content is still that of `before` below the path `above`. @throws CliError `stale` when anything in
 * it has changed; nothing is deleted then
 */
export async function deleteSeenFolder(
  cli: CliContext,
  folder: SyncedFolder & { readonly etag: string | null },
  { before, above, platform }: { before: Tree; above: string; platform: string },
  word: string,
): Promise<void> {
  const now = await readRemoteTree(cli, folder, platform);
  if (!isUnchanged(before, above, now)) throw toChanged(word);
  const item = { provider_item_id: folder.id, etag: folder.etag };
  await deleteByEtag(cli, folder.connectionId, item, word);
}

/** Returns the error for an item that is not deleted, or not replaced, because it is another version. */
export function toChanged(
  word: string,
  cause?: CliError,
  done: "deleted" | "replaced" = "deleted",
): CliError {
  return new CliError("stale", `${word} has changed meanwhile; it was not ${done}`, {
    ...cause?.details,
    service: "vault",
    hint: "run the same command again; it copies the changes",
  });
}
