import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import type { TaskId, RunId, ArtifactId, RepositoryId } from "../ids.ts";
import { generated, id, integer, named, now, optional, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";

const blocks = defineTable("forge_action_artifact_blocks", {
  id: generated(integer()),
  artifactId: id<ArtifactId>(),
  blockId: text(),
  position: optional(integer()),
  size: integer(),
  sha256: named("object_sha256", text()),
});

/** `pending` while its blocks arrive; `expired` once its bytes are deleted. */
export type ArtifactState = "pending" | "ready" | "expired";

const artifacts = defineTable("forge_action_artifacts", {
  id: generated(id<ArtifactId>()),
  repositoryId: id<RepositoryId>(),
  runId: id<RunId>(),
  attempt: integer(),
  /** The task that uploads it. */
  taskId: id<TaskId>(),
  name: text(),
  contentType: text(),
  state: text<ArtifactState>(),
  /** In bytes; 0 while pending. */
  size: integer(),
  /** Names its object; undefined unless ready. */
  sha256: named("object_sha256", optional(text())),
  expiresAt: integer(),
  createdAt: now(),
  updatedAt: now(),
});
/** A file that a job keeps. Times are epoch milliseconds. */
export type ActionArtifact = RecordOf<typeof artifacts>;

/** A block of a pending artifact. */
export type ArtifactBlock = Pick<RecordOf<typeof blocks>, "blockId" | "size" | "sha256">;

/** Adds a pending artifact. */
export async function insertArtifact(
  tx: Transaction,
  artifact: Pick<
    ActionArtifact,
    "repositoryId" | "runId" | "attempt" | "taskId" | "name" | "contentType" | "expiresAt"
  >,
): Promise<ActionArtifact> {
  return artifacts.insert(tx, { ...artifact, state: "pending", size: 0 });
}

export async function findArtifact(
  db: Queries,
  id: ArtifactId,
): Promise<ActionArtifact | undefined> {
  return artifacts.find(db, { id });
}

/** Finds the newest artifact of a task that has this name: `pending` or `ready`. */
export async function findArtifactOfTask(
  db: Queries,
  taskId: TaskId,
  name: string,
  state: ArtifactState,
): Promise<ActionArtifact | undefined> {
  return artifacts.find(db, { taskId, name, state }, "id DESC");
}

/** Conditions of a list of artifacts, which never shows pending ones. */
export interface ArtifactFilter {
  readonly repositoryId: RepositoryId;
  readonly runId?: RunId;
  readonly name?: string;
}

/** Lists ready and expired artifacts by id. */
export async function listArtifacts(
  db: Queries,
  { repositoryId, runId, name }: ArtifactFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly artifacts: ActionArtifact[]; readonly total: number }> {
  const conditions: [string, SqlValue][] = [["repository_id = ?", repositoryId]];
  if (runId !== undefined) conditions.push(["run_id = ?", runId]);
  if (name !== undefined) conditions.push(["name = ?", name]);
  const where = `WHERE state <> 'pending' AND ${conditions.map(([text]) => text).join(" AND ")}`;
  const values = conditions.map(([, value]) => value);
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_action_artifacts ${where}`,
    ...values,
  );
  const rows = await artifacts.readAll(
    db,
    `SELECT ${artifacts.columns} FROM forge_action_artifacts ${where} ORDER BY id LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { artifacts: rows, total: counted?.total ?? 0 };
}

/** Lists the ready artifacts of some attempts of a run, the newest attempt first. */
export async function listReadyArtifacts(
  db: Queries,
  {
    runId,
    fromAttempt,
    toAttempt,
  }: { readonly runId: RunId; readonly fromAttempt: number; readonly toAttempt: number },
): Promise<ActionArtifact[]> {
  return artifacts.list(
    db,
    sql`run_id = ${runId} AND attempt BETWEEN ${fromAttempt} AND ${toAttempt} AND state = 'ready'`,
    { order: "attempt DESC, id" },
  );
}

/** Counts the artifacts of a run, pending ones included, and their bytes. */
export async function countRunArtifacts(
  db: Queries,
  runId: RunId,
): Promise<{ readonly count: number; readonly bytes: number }> {
  const row = await db.get<{ count: number; bytes: number }>(
    `SELECT COUNT(*) AS count, CAST(COALESCE(SUM(size), 0) AS BIGINT) + CAST(COALESCE((
       SELECT SUM(b.size) FROM forge_action_artifact_blocks b
       JOIN forge_action_artifacts p ON p.id = b.artifact_id WHERE p.run_id = ?), 0) AS BIGINT) AS bytes
     FROM forge_action_artifacts WHERE run_id = ?`,
    runId,
    runId,
  );
  return { count: row?.count ?? 0, bytes: row?.bytes ?? 0 };
}

/**
 * Makes a pending artifact ready and drops its blocks. It replaces the ready artifact of the same run, attempt
 * and name. Returns whether it was pending.
 */
export async function completeArtifact(
  tx: Transaction,
  { id, runId, attempt, name }: ActionArtifact,
  object: { readonly sha256: string; readonly size: number },
): Promise<boolean> {
  await artifacts.delete(
    tx,
    sql`run_id = ${runId} AND attempt = ${attempt} AND name = ${name} AND state = 'ready'
        AND id <> ${id}`,
  );
  const row = await tx.get<{ id: ArtifactId }>(
    `UPDATE forge_action_artifacts SET state = 'ready', size = ?, object_sha256 = ?, updated_at = ?
     WHERE id = ? AND state = 'pending' RETURNING id`,
    object.size,
    object.sha256,
    tx.now,
    id,
  );
  await blocks.delete(tx, { artifactId: id });
  return row !== undefined;
}

/** Deletes an artifact; the sweep of objects removes its bytes. */
export async function deleteArtifact(tx: Transaction, id: ArtifactId): Promise<void> {
  await artifacts.delete(tx, { id });
}

/** Adds a block, or replaces the one of the same id. */
export async function putBlock(
  tx: Transaction,
  artifactId: ArtifactId,
  { blockId, size, sha256 }: ArtifactBlock,
): Promise<void> {
  await blocks.upsert(
    tx,
    { artifactId, blockId, size, sha256 },
    "ON CONFLICT (artifact_id, block_id) DO UPDATE SET size = excluded.size, object_sha256 = excluded.object_sha256",
  );
}

/** Counts the blocks of a pending artifact and their bytes, without the block of one id. */
export async function countBlocks(
  db: Queries,
  artifactId: ArtifactId,
  exceptId: string,
): Promise<{ readonly count: number; readonly bytes: number }> {
  const row = await db.get<{ count: number; bytes: number }>(
    `SELECT COUNT(*) AS count, CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes
     FROM forge_action_artifact_blocks WHERE artifact_id = ? AND block_id <> ?`,
    artifactId,
    exceptId,
  );
  return { count: row?.count ?? 0, bytes: row?.bytes ?? 0 };
}

/** Lists the blocks of a pending artifact: those that a block list named in its order, all in order of arrival without one. */
export async function listBlocks(db: Queries, artifactId: ArtifactId): Promise<ArtifactBlock[]> {
  const stored = await blocks.list(db, { artifactId }, { order: "position, id" });
  const ordered = stored.filter(({ position }) => position !== undefined);
  return ordered.length > 0 ? ordered : stored;
}

/** Puts blocks in the order of a block list. Returns the first id that no block has, and changes nothing then. */
export async function orderBlocks(
  tx: Transaction,
  artifactId: ArtifactId,
  blockIds: readonly string[],
): Promise<string | undefined> {
  const stored = await blocks.list(tx, { artifactId });
  const storedIds = new Set(stored.map(({ blockId }) => blockId));
  const missing = blockIds.find((id) => !storedIds.has(id));
  if (missing !== undefined) return missing;
  await blocks.update(tx, { artifactId }, { position: undefined });
  for (const [position, id] of blockIds.entries())
    await blocks.update(tx, { artifactId, blockId: id }, { position });
  return undefined;
}
