import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";
import { createSemaphore } from "../../../../storage/locks.ts";
import { describeIssue } from "../../../contract/issue-text.ts";
import { itemName } from "../../../contract/vault/cloud/shapes.ts";
import type { Log } from "../../../utilities/logging.ts";
import type { VaultCaller } from "../../caller.ts";
import type { CloudChanges, EnsureFolderResult } from "../changes/changes.service.ts";
import type { Adapters } from "../connections/adapters.ts";
import { FILES_AT_ONCE, toRefused, type BeginBatch, type Refused } from "./batch-limits.ts";

/** One folder to create: in a folder by its id, or in an earlier folder of the same batch. */
export interface NewFolder {
  readonly parent_ref?: string | null | undefined;
  readonly parent_index?: number | null | undefined;
  readonly name: string;
}

/** The folder that was to contain this one was not created. */
type ParentFailed = { readonly kind: "parent_failed" };

/** The result of one folder. */
export interface FolderOutcome {
  /** Its position in the batch, from 0. */
  readonly index: number;
  readonly result: EnsureFolderResult | ParentFailed | Refused;
}

/** A batch that is about to run. */
export interface FolderBatch {
  /**
   * Creates the folders, several at a time and each after its parent, and reports them in their order. Starts no further one
   * once `signal` is aborted.
   */
  run(report: (outcome: FolderOutcome) => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Call it once, after the batch. */
  release(): void;
}

/** Creates many folders in one request. */
export type BatchFolders = ReturnType<typeof createBatchFolders>;

/**
 * Creates the service. Each folder is a change of its own, with its own record and audit. It holds the connection's
 * lock for one folder at a time, so that other changes need not wait for the whole batch.
 */
export function createBatchFolders(
  { log, beginBatch }: { readonly log: Log; readonly beginBatch: BeginBatch },
  adapters: Pick<Adapters, "own" | "open">,
  changes: Pick<CloudChanges, "ensureFolder">,
) {
  return {
    /** Refuses a missing connection, one that cannot be opened, and more batches of an account than may run at one time. */
    async begin(
      caller: VaultCaller,
      connectionId: ConnectionId,
      folders: readonly NewFolder[],
    ): Promise<FolderBatch> {
      await adapters.open(await adapters.own(caller.userId, connectionId));
      const release = beginBatch(caller.userId);
      return { release, run };

      async function run(
        report: (outcome: FolderOutcome) => Promise<void>,
        signal: AbortSignal,
      ): Promise<void> {
        const permit = createSemaphore({ permits: FILES_AT_ONCE });
        const results: Promise<FolderOutcome["result"] | undefined>[] = [];
        for (const folder of folders) results.push(create(folder, results.length));
        try {
          for (const [index, creating] of results.entries()) {
            const result = await creating;
            if (result !== undefined && !signal.aborted) await report({ index, result });
          }
        } finally {
          // The batch counts until its last folder is done, even if the client left.
          await Promise.all(results);
        }

        /** Undefined if the client disconnected before this folder was started. */
        async function create(
          folder: NewFolder,
          index: number,
        ): Promise<FolderOutcome["result"] | undefined> {
          const input = parse(folder, index);
          if ("kind" in input) return input;
          const above = input.parentIndex === undefined ? undefined : results[input.parentIndex];
          const parent = above === undefined ? input.parentRef : toId(await above);
          if (parent === undefined) return { kind: "parent_failed" };
          return permit(async () => (signal.aborted ? undefined : ensure(parent, input.name)));
        }
      }

      async function ensure(parent: string | null, name: string): Promise<FolderOutcome["result"]> {
        try {
          return await changes.ensureFolder(caller, connectionId, { parent_ref: parent, name });
        } catch (error) {
          const refused = toRefused(error);
          if (refused.code === "internal")
            log.error({ err: error, connection_id: connectionId }, "failed to create a folder");
          return refused;
        }
      }
    },
  };
}

/** Validates one folder of a batch in which `count` folders come before it. */
function parse(
  { parent_ref: parentRef, parent_index: parentIndex, name }: NewFolder,
  count: number,
):
  | {
      readonly parentRef: string | null;
      readonly parentIndex: number | undefined;
      readonly name: string;
    }
  | Refused {
  const parsed = itemName.safeParse(name, { error: describeIssue });
  if (!parsed.success) return refuse(parsed.error.issues[0]?.message ?? "Not a name");
  const at = parentIndex ?? undefined;
  if (at !== undefined && parentRef !== undefined && parentRef !== null)
    return refuse("Send parent_ref or parent_index, not both");
  if (at !== undefined && at >= count)
    return refuse("parent_index must be the position of an earlier folder");
  return { parentRef: parentRef ?? null, parentIndex: at, name: parsed.data };
}

function toId(result: FolderOutcome["result"] | undefined): string | undefined {
  if (result?.kind === "folder") return result.item.id;
  return result?.kind === "existing" ? result.folder.providerItemId : undefined;
}

function refuse(detail: string): Refused {
  return { kind: "refused", code: "unprocessable", detail };
}
