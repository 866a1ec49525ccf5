import { setImmediate as nextTurn } from "node:timers/promises";
import type { Database } from "../../../storage/engine/database.ts";
import {
  type AuditChain,
  type AuditHead,
  deleteAuditBefore,
  findAuditChain,
  findAuditHead,
  findUnchained,
  insertAuditHead,
  listAuditHeads,
  listChainedRecords,
  toAuditHash,
} from "../../../storage/tables/vault/audit-chain.ts";
import type { Log } from "../../utilities/logging.ts";
import type { PageRequest } from "../page.ts";

/** A record whose hash does not follow from its content and the hash before it. */
export interface ChainFault {
  /** The first position whose record does not fit the chain. */
  readonly position: number;
  /** The id of the record at this position, or of the next one if this one is missing. */
  readonly recordId: number | undefined;
  /**
   * `changed`: the content or the hash differs. `missing`: the record was deleted. `added`: a record was written past the chain.
   * `end_differs`: the chain's last record is not the recorded one. `no_chain`: the row with both ends was deleted.
   */
  readonly reason: "changed" | "missing" | "added" | "end_differs" | "no_chain";
}

/** Result of a verification. */
export interface ChainReport {
  readonly fault: ChainFault | undefined;
  /** Records that fit, up to the fault. */
  readonly verified: number;
  /** Records from before the chain, which nothing protects. */
  readonly unchained: number;
  /** Records that retention has removed. */
  readonly removed: number;
  /** The position and the hash of the last record that fits. */
  readonly position: number;
  readonly hash: string;
  /**
   * The given head: `found` among the verified records, `removed` if its record was removed by retention and its hash is
   * that of a daily head, or `missing`. Undefined if none was given.
   */
  readonly head: "found" | "removed" | "missing" | undefined;
}

const DAY_MS = 86_400_000;
/** Records that are hashed in one turn of the event loop: about 5 ms. */
const BATCH = 500;

export type AuditChains = ReturnType<typeof createAuditChain>;

/** Verifies the chain of the audit trail, records its daily heads and removes old records. */
export function createAuditChain({
  db,
  clock,
  log,
  keptDays,
}: {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly log: Log;
  /** How long records are kept; 0 keeps them. */
  readonly keptDays: number;
}) {
  return {
    /** Recomputes all hashes, and looks for the given one. Reads in batches; records that are added meanwhile are left out. */
    async verify(head?: string): Promise<ChainReport> {
      for (;;) {
        const chain = await findAuditChain(db);
        if (chain === undefined) return noChain;
        const report = await verifyChain(db, chain, head);
        // Retention may have removed records in the middle of the verification.
        const after = await findAuditChain(db);
        if (after?.startPosition === chain.startPosition) return report;
      }
    },

    /** Returns one page of the daily heads, newest first. */
    async listHeads({ page, perPage }: PageRequest) {
      return listAuditHeads(db, { limit: perPage, offset: (page - 1) * perPage });
    },

    /** Records the end of the chain as the head of yesterday (UTC), unless it has one, and logs it. */
    async recordHead(): Promise<void> {
      const day = new Date(clock() - DAY_MS).toISOString().slice(0, 10);
      const head = await db.transaction((tx) => insertAuditHead(tx, day));
      if (head !== undefined)
        log.info(
          { day, position: head.position, hash: head.hash },
          "recorded the head of the audit chain",
        );
    },

    /** Removes the records beyond the retention. Stops at one that does not fit the chain. */
    async removeOld(signal: AbortSignal): Promise<void> {
      if (keptDays === 0) return;
      const before = clock() - keptDays * DAY_MS;
      let removed: number;
      do {
        signal.throwIfAborted();
        removed = await db.transaction((tx) => deleteAuditBefore(tx, before, BATCH));
      } while (removed > 0);
    },
  };
}

async function verifyChain(
  db: Database,
  chain: AuditChain,
  head: string | undefined,
): Promise<ChainReport> {
  let { startPosition: position, startHash: hash } = chain;
  let isFound = hash === head && position > 0;
  let fault: ChainFault | undefined;
  let records: Awaited<ReturnType<typeof listChainedRecords>>;
  do {
    records = await listChainedRecords(db, {
      after: position,
      until: chain.position,
      limit: BATCH,
    });
    for (const record of records) {
      fault = findFault(record, position, hash);
      if (fault !== undefined) break;
      position = record.position;
      hash = record.hash;
      isFound ||= hash === head;
    }
    await nextTurn();
  } while (records.length > 0 && fault === undefined);
  const { count, strayId } = await findUnchained(db, chain.unchainedId);
  if (strayId !== undefined)
    fault ??= { position: position + 1, recordId: strayId, reason: "added" };
  if (position !== chain.position || hash !== chain.hash)
    fault ??= {
      position: Math.min(position + 1, chain.position),
      recordId: undefined,
      reason: position < chain.position ? "missing" : "end_differs",
    };
  return {
    fault,
    verified: position - chain.startPosition,
    unchained: count,
    removed: chain.startPosition,
    position,
    hash,
    head: head === undefined ? undefined : isFound ? "found" : await findRemoved(db, chain, head),
  };
}

function findFault(
  record: Awaited<ReturnType<typeof listChainedRecords>>[number],
  position: number,
  hash: string,
): ChainFault | undefined {
  const { id: recordId } = record;
  if (record.position !== position + 1)
    return { position: position + 1, recordId, reason: "missing" };
  if (record.hash !== toAuditHash(hash, record.position, record.content))
    return { position: record.position, recordId, reason: "changed" };
  return undefined;
}

async function findRemoved(
  db: Database,
  chain: AuditChain,
  hash: string,
): Promise<"removed" | "missing"> {
  const head: AuditHead | undefined = await findAuditHead(db, hash);
  return head !== undefined && head.position <= chain.startPosition ? "removed" : "missing";
}

const noChain: ChainReport = {
  fault: { position: 1, recordId: undefined, reason: "no_chain" },
  verified: 0,
  unchained: 0,
  removed: 0,
  position: 0,
  hash: "",
  head: undefined,
};
