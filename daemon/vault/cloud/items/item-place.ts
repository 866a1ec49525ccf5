import type { Locks } from "../../../../storage/locks.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";

/** The connection and id of a route's item. */
export interface ItemPlace {
  readonly connection_id: ConnectionId;
  readonly item_id: string;
}

/** The service's own address of an item's bytes. */
export function toDownloadPath({ connection_id, item_id }: ItemPlace): string {
  const segments = item_id.split("/");
  const isPlain = segments.every(
    (segment) => segment !== "" && segment !== "." && segment !== "..",
  );
  // Clients and proxies would normalize away an empty or dot segment, so slashes are encoded, too.
  const item = isPlain ? segments.map(encodeURIComponent).join("/") : encodeURIComponent(item_id);
  return `/api/cloud/connections/${connection_id}/items/${item}/download`;
}

export type NameLocks = ReturnType<typeof createNameLocks>;

/** A name in a folder of a connection. */
export interface NewName {
  readonly connectionId: ConnectionId;
  readonly parent: string;
  readonly name: string;
}

/**
 * Creates locks of the names of new items, regardless of case: not every provider refuses a second item of the same name.
 */
export function createNameLocks({ withLocks }: Pick<Locks, "withLocks">) {
  return {
    /** Runs `work` while no other call has this name. */
    withName: <T>({ connectionId, parent, name }: NewName, work: () => Promise<T>): Promise<T> =>
      withLocks([JSON.stringify(["name", connectionId, parent, name.toUpperCase()])], work),
  };
}
