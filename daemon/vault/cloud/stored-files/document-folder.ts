import type { Failure } from "../../../../storage/cloud/outcomes.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import { findItemByName } from "../../../../storage/tables/vault/items.ts";
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import type { ChangeRecorder, RecordingFailed } from "../changes/change-recorder.ts";
import type { NameLocks } from "../items/item-place.ts";
import type { Adapters } from "../connections/adapters.ts";
import { recordNewItem, toItemOwner } from "../items/item-records.ts";
import type { CloudListings } from "../items/listings.service.ts";

export type DocumentFolder = ReturnType<typeof createDocumentFolder>;

export interface DocumentFolderDeps {
  readonly db: Database;
  readonly newId: () => string;
}

const NAME = "croft";
const ROOT = "";

/** The folder of a connection that holds its documents. */
export function createDocumentFolder(
  { db, newId }: DocumentFolderDeps,
  adapters: Adapters,
  recorder: Pick<ChangeRecorder, "make">,
  listings: Pick<CloudListings, "relist">,
  newNames: NameLocks,
) {
  /** Returns the recorded folder if the provider still has it. */
  async function findKnown(connection: Connection, signal: AbortSignal) {
    const recorded = await findItemByName(db, connection.id, ROOT, NAME);
    if (recorded === undefined) return undefined;
    const id = recorded.providerItemId;
    const current = await adapters.call(connection, (provider) => provider.stat({ id, signal }));
    if (current.kind === "not_found") return undefined;
    if (current.kind === "changed" || current.kind === "range_not_satisfiable")
      throw new Error(`a provider answered a stat with ${current.kind}`);
    if (current.kind !== "ok") return current;
    return current.item.kind === "folder" ? ({ kind: "ok", id } as const) : undefined;
  }

  async function create(caller: VaultCaller, connection: Connection, signal: AbortSignal) {
    const created = await recorder.make({
      caller,
      connection,
      eventType: "cloud.folder_created",
      staleReason: "create_folder_mutated",
      parentRef: ROOT,
      call: () =>
        adapters.call(connection, (provider) =>
          provider.createFolder({ parent: ROOT, name: NAME, signal }),
        ),
      listFolders: () => [ROOT],
      async write(tx, { item }) {
        const row = await recordNewItem(tx, toItemOwner(connection, newId), item, undefined);
        if (row === undefined) return undefined;
        const metadata = { provider_item_id: item.id, name: item.name, parent_ref: null };
        return { value: row, resourceId: row.id, metadata };
      },
    });
    return created.kind === "recorded"
      ? ({ kind: "ok", id: created.done.item.id } as const)
      : created;
  }

  return {
    /** Returns its id; creates it when it is missing. Refuses with `conflict` when a file has its name. */
    async find(
      caller: VaultCaller,
      connection: Connection,
    ): Promise<{ readonly kind: "ok"; readonly id: string } | Failure | RecordingFailed> {
      const { signal } = new AbortController();
      const withLock = <T>(work: () => Promise<T>) => adapters.withLock(connection.id, work);
      const known = await withLock(() => findKnown(connection, signal));
      if (known !== undefined) return known;
      // Some providers allow duplicate names: two concurrent uploads must not create two folders.
      return newNames.withName({ connectionId: connection.id, parent: ROOT, name: NAME }, () =>
        withLock(async () => {
          const existing = await findKnown(connection, signal);
          if (existing !== undefined) return existing;
          const created = await create(caller, connection, signal);
          if (created.kind !== "conflict") return created;
          // The folder exists at the provider, but no listing has recorded it.
          if (!(await listings.relist(connection, ROOT))) return { kind: "offline", sent: true };
          const name = created.existingName ?? NAME;
          const found = await findItemByName(db, connection.id, ROOT, name);
          if (found?.kind === "folder") return { kind: "ok", id: found.providerItemId };
          throw new AppError(
            "conflict",
            `The connected storage has a file named ${NAME} where the folder for documents must be. Rename that file.`,
          );
        }),
      );
    },
  };
}
