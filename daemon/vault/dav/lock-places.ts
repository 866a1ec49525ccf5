import type { Queries } from "../../../storage/engine/database.ts";
import {
  listFilesOfLocks,
  listLiveLockedItems,
  listSharedTopicIds,
  listTopicIdsOfDocuments,
} from "../../../storage/tables/vault/dav-locks.ts";
import type { VaultDocument } from "../../../storage/tables/vault/documents/documents.ts";
import {
  listVisibleTopics,
  type VaultTopic,
} from "../../../storage/tables/vault/documents/topics.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import {
  type ItemOfConnection,
  readAncestorNames,
} from "../../../storage/tables/vault/item-ancestors.ts";
import { toSegments } from "./tree.ts";

export const ALL = "all";
export const TOPICS = "topics";
/** The folder of the root that holds the documents; places in it begin with this name. */
export const DOCUMENTS = "documents";

const ALL_PLACE = `${DOCUMENTS}/${ALL}`;

/** A file or folder as locks see it. */
export interface LockPlace {
  readonly place: string;
  /** Identifies a file at every path where it is. */
  readonly resourceId?: string | undefined;
}

/** Names the folders of topics. Of two topics of one name the first is the user's own, as in the API. */
export function nameTopics(visible: readonly VaultTopic[]): ReadonlyMap<string, VaultTopic> {
  const ownFirst = [
    ...visible.filter((topic) => topic.userId !== undefined),
    ...visible.filter((topic) => topic.userId === undefined),
  ];
  return toSegments(ownFirst, ({ name }) => name);
}

/**
 * Returns the places of the folders in which files are, by the ids of the files: a document is in `all`, in its topics, and in
 * the folder of a connected storage that holds its bytes. A file that was deleted is missing.
 */
export async function listFoldersOf(
  db: Queries,
  userId: AccountId,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const folders = new Map<string, readonly string[]>();
  if (ids.length === 0) return folders;
  for (const id of await listLiveLockedItems(db, userId, ids)) folders.set(id, []);
  const files = await listFilesOfLocks(db, userId, ids);
  if (files.length === 0) return folders;
  const topicIds = await listTopicIdsOfDocuments(
    db,
    files.map(({ id }) => id),
  );
  const segments = await toTopicPlaces(db, userId);
  const namesAbove = await readAncestorNames(db, userId, files.flatMap(toItem));
  for (const file of files) {
    const { id, itemId } = file;
    const places = [ALL_PLACE];
    for (const topicId of topicIds.get(id) ?? []) places.push(...(segments.get(topicId) ?? []));
    for (const item of toItem(file)) {
      const names = namesAbove(item).map((name) => name.normalize("NFC"));
      places.push([item.connectionId, ...names.toReversed()].join("/"));
    }
    folders.set(id, places);
    if (itemId !== undefined) folders.set(itemId, places);
  }
  return folders;
}

function toItem({ connectionId, providerItemId }: VaultDocument): readonly ItemOfConnection[] {
  return connectionId === undefined || providerItemId === undefined
    ? []
    : [{ connectionId, providerItemId }];
}

/**
 * Returns the places of the folders that a change of a topic or of a new document in it changes, too: `all`, and the folders of
 * topics that have documents of the topic.
 */
export async function listFoldersBeside(
  db: Queries,
  userId: AccountId,
  place: string,
): Promise<readonly string[]> {
  const [space, folder, segment, file, ...below] = place.split("/");
  if (space !== DOCUMENTS || folder !== TOPICS || segment === undefined || below.length > 0)
    return [];
  if (file !== undefined) return [ALL_PLACE];
  const topic = nameTopics(await listVisibleTopics(db, userId)).get(segment);
  const shared = topic === undefined ? [] : await listSharedTopicIds(db, userId, topic.id);
  if (shared.length === 0) return [];
  const segments = await toTopicPlaces(db, userId);
  const others = shared.filter((id) => id !== topic?.id);
  return [ALL_PLACE, ...others.flatMap((id) => segments.get(id) ?? [])];
}

async function toTopicPlaces(
  db: Queries,
  userId: AccountId,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const named = nameTopics(await listVisibleTopics(db, userId));
  return new Map([...named].map(([name, { id }]) => [id, [`${DOCUMENTS}/${TOPICS}/${name}`]]));
}
