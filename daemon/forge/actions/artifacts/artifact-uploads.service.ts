import type { Readable } from "node:stream";
import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import {
  type ActionArtifact,
  type ArtifactBlock,
  completeArtifact,
  countBlocks,
  countRunArtifacts,
  findArtifact,
  findArtifactOfTask,
  insertArtifact,
  listBlocks,
  orderBlocks,
  putBlock,
} from "../../../../storage/tables/forge/actions/artifacts.ts";
import { isFinal } from "../../../../storage/tables/forge/actions/statuses.ts";
import { findTask } from "../../../../storage/tables/forge/actions/tasks.ts";
import { AppError } from "../../../errors.ts";
import { readChunks, receivePlainBody, uploadTooLarge } from "../../../utilities/receive-body.ts";
import type { ArtifactAddresses } from "./artifact-addresses.ts";
import { readBlockList } from "./block-list.ts";
import type { RunningTask } from "./running-tasks.ts";
import type { ArtifactId } from "../../../../storage/tables/forge/ids.ts";
import { openObject } from "../../../utilities/open-object.ts";

/** The metadata of an artifact that a job begins to upload. */
export interface NewArtifact {
  readonly name: string;
  /** Undefined for an archive. */
  readonly contentType: string | undefined;
  /** Epoch milliseconds; undefined for the longest time. */
  readonly expiresAt: number | undefined;
}

/** A request to an upload address. */
export interface UploadPart {
  /** The kind of its body: the list of blocks, or else a block. */
  readonly comp: string;
  /** The id of a block; may be empty. */
  readonly blockid: string;
  readonly body: Readable;
  /** 0 when unknown. */
  readonly declaredBytes: number;
}

export interface ArtifactUploadsDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly addresses: ArtifactAddresses;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Unique texts without a colon. */
  readonly newUuid: () => string;
  /** Largest artifact. */
  readonly bytesMax: number;
  /** Maximum bytes of all artifacts of a run. */
  readonly runBytesMax: number;
  /** Maximum retention of an artifact, and the default. */
  readonly retentionMs: number;
}

/** The content type of an artifact that is an archive of files. */
export const ARCHIVE_TYPE = "application/zip";

/** Artifacts of a run, those being uploaded included: each costs rows and files. */
const RUN_ARTIFACTS_MAX = 500;
/** Blocks of an artifact: clients send blocks of 8 MiB, so a full artifact has fewer. */
const BLOCKS_MAX = 1_000;
const BLOCK_BYTES = 1024 * 1024;
/** Largest list of blocks. */
const LIST_BYTES_MAX = 4 * 1024 * 1024;
/** Prefix of the ids of appended blocks; ids of clients have no colon. */
const APPENDED = "appended:";

/**
 * Uploads of artifacts by jobs: created, filled block by block, completed. Every function throws `not_found` for an artifact
 * that is not being uploaded.
 */
export type ArtifactUploads = ReturnType<typeof createArtifactUploads>;

export function createArtifactUploads(deps: ArtifactUploadsDeps) {
  const { db, store, addresses, clock, newUuid, bytesMax, runBytesMax, retentionMs } = deps;
  const blocksMax = Math.max(BLOCKS_MAX, Math.ceil(bytesMax / BLOCK_BYTES));
  /** Artifacts that are being assembled: a client that lost the response retries while the first request still runs. */
  const completing = new Map<ArtifactId, Promise<void>>();
  return {
    /** Begins an upload and returns its address. Throws `too_large` when the run has too many artifacts. */
    async create(
      task: RunningTask,
      { name, contentType, expiresAt }: NewArtifact,
    ): Promise<string> {
      const { taskId, runId, repositoryId, attempt } = task;
      const longest = clock() + retentionMs;
      const artifact = await db.transaction(async (tx) => {
        const { count } = await countRunArtifacts(tx, runId);
        if (count >= RUN_ARTIFACTS_MAX)
          throw new AppError("too_large", `a run has at most ${RUN_ARTIFACTS_MAX} artifacts`);
        return insertArtifact(tx, {
          repositoryId,
          runId,
          attempt,
          taskId,
          name,
          contentType: contentType ?? ARCHIVE_TYPE,
          expiresAt: Math.min(Math.max(expiresAt ?? longest, clock()), longest),
        });
      });
      return addresses.sign({ artifactId: artifact.id, use: "upload" });
    },

    /**
     * Receives a part of an upload: a block, the list of blocks, or the whole. A block replaces an earlier one with the
     * same id; a block without an id is appended. Throws `too_large`, and `invalid_argument` for an aborted body and
     * for a list that is invalid or names a missing block.
     */
    receive: (artifactId: ArtifactId, part: UploadPart): Promise<void> =>
      part.comp === "blocklist"
        ? commitBlocks(artifactId, part.body)
        : addBlock(artifactId, part.blockid, part),

    /**
     * Completes the newest upload of this name by the task, which replaces an earlier artifact of the attempt and name.
     * Returns the id. Throws `invalid_argument` when size or SHA-256 differ from the stored bytes. Idempotent.
     */
    async complete(
      { taskId }: RunningTask,
      name: string,
      promised: { readonly size: number; readonly sha256: string | undefined },
    ): Promise<number> {
      const pending = await findArtifactOfTask(db, taskId, name, "pending");
      if (pending === undefined) {
        const ready = await findArtifactOfTask(db, taskId, name, "ready");
        if (ready === undefined || ready.size !== promised.size) throw uploadNotFound();
        return ready.id;
      }
      const underWay = completing.get(pending.id) ?? assemble(pending, promised);
      completing.set(pending.id, underWay);
      await underWay.finally(() => completing.delete(pending.id));
      return pending.id;
    },
  };

  async function addBlock(
    artifactId: ArtifactId,
    id: string,
    { body, declaredBytes }: UploadPart,
  ): Promise<void> {
    const blockId = id === "" ? `${APPENDED}${newUuid()}` : id;
    const allowed = await db.transaction((tx) => findSpace(tx, artifactId, blockId));
    const received = await receivePlainBody(store, body, { bytesMax: allowed, declaredBytes });
    try {
      const { size, sha256 } = received.digests;
      await received.publish();
      await db.transaction(async (tx) => {
        // Other blocks may have arrived in the meantime.
        if (size > (await findSpace(tx, artifactId, blockId))) throw uploadTooLarge(bytesMax);
        await putBlock(tx, artifactId, { blockId, size, sha256 });
      });
    } finally {
      await received.discard();
    }
  }

  async function commitBlocks(artifactId: ArtifactId, body: Readable): Promise<void> {
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of readChunks(body)) {
      bytes += chunk.byteLength;
      if (bytes > LIST_BYTES_MAX) throw uploadTooLarge(LIST_BYTES_MAX);
      parts.push(chunk);
    }
    const blockIds = readBlockList(Buffer.concat(parts).toString("utf8"));
    await db.transaction(async (tx) => {
      await getPending(tx, artifactId);
      const missing = await orderBlocks(tx, artifactId, blockIds);
      if (missing !== undefined)
        throw new AppError("invalid_argument", `the block list names the unknown block ${missing}`);
    });
  }

  async function getPending(tx: Transaction, artifactId: ArtifactId): Promise<ActionArtifact> {
    const artifact = await findArtifact(tx, artifactId);
    const task = artifact?.state === "pending" ? await findTask(tx, artifact.taskId) : undefined;
    // The address is valid longer than the job runs, but an upload ends with the job.
    if (artifact === undefined || task === undefined || isFinal(task.status))
      throw uploadNotFound();
    return artifact;
  }

  /** Returns how large a block may be. */
  async function findSpace(
    tx: Transaction,
    artifactId: ArtifactId,
    blockId: string,
  ): Promise<number> {
    const { runId } = await getPending(tx, artifactId);
    const blocks = await countBlocks(tx, artifactId, blockId);
    if (blocks.count >= blocksMax)
      throw new AppError("too_large", `an artifact has at most ${blocksMax} blocks`);
    const run = await countRunArtifacts(tx, runId);
    const left = Math.min(bytesMax - blocks.bytes, runBytesMax - run.bytes);
    if (left <= 0)
      throw new AppError("too_large", `the artifacts of a run have at most ${runBytesMax} bytes`);
    return left;
  }

  async function assemble(
    artifact: ActionArtifact,
    promised: { readonly size: number; readonly sha256: string | undefined },
  ): Promise<void> {
    const blocks = await listBlocks(db, artifact.id);
    const size = blocks.reduce((sum, block) => sum + block.size, 0);
    if (size !== promised.size)
      throw new AppError(
        "invalid_argument",
        `${size} bytes were uploaded, not the ${promised.size} bytes that were promised`,
      );
    const [only] = blocks;
    const object =
      blocks.length === 1 && only !== undefined ? only : await joinBlocks(store, blocks);
    if (promised.sha256 !== undefined && promised.sha256 !== object.sha256)
      throw new AppError("invalid_argument", "the uploaded bytes do not match the SHA-256");
    // Another daemon may have completed it with the same bytes.
    await db.transaction((tx) => completeArtifact(tx, artifact, object));
  }
}

/** Stores the bytes of blocks as one object. */
async function joinBlocks(
  store: ObjectStore,
  blocks: readonly ArtifactBlock[],
): Promise<{ readonly sha256: string; readonly size: number }> {
  const writer = await store.createPlain();
  try {
    for (const block of blocks)
      for await (const chunk of await openObject(store, block, "block"))
        await writer.write(chunk as Buffer);
    const digests = await writer.seal();
    await writer.publish();
    return digests;
  } finally {
    await writer.discard();
  }
}

const uploadNotFound = () =>
  new AppError("not_found", "no artifact of this name is being uploaded");
