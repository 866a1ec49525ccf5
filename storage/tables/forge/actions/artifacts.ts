import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import type { TaskId, RunId, ArtifactId, RepositoryId } from "../ids.ts";

/** `pending` while its blocks arrive; `expired` once its bytes are deleted. */
export type ArtifactState = "pending" | "ready" | "expired";

/** A file that a job keeps. Times are epoch milliseconds. */
export interface ActionArtifact {
  readonly id: ArtifactId;
  readonly repositoryId: RepositoryId;
  readonly runId: RunId;
  readonly attempt: number;
  /** The task that uploads it. */
  readonly taskId: TaskId;
  readonly name: string;
  readonly contentType: string;
  readonly state: ArtifactState;
  /** In bytes; 0 while pending. */
  readonly size: number;
  /** Names its object; undefined unless ready. */
  readonly sha256: string | undefined;
  readonly expiresAt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A block of a pending artifact. */
export interface ArtifactBlock {
  readonly blockId: string;
  readonly size: number;
  readonly sha256: string;
}

/** Adds a pending artifact. */
export async function insertArtifact(
  tx: Transaction,
  artifact: Pick<
    ActionArtifact,
    "repositoryId" | "runId" | "attempt" | "taskId" | "name" | "contentType" | "expiresAt"
  >,
): Promise<ActionArtifact> {
  const row = await tx.get<ArtifactRow>(
    `INSERT INTO forge_action_artifacts (repository_id, run_id, attempt, task_id, name, content_type, state, size,
       expires_at, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, 'pending', 0, ?, ?, ?) RETURNING ${columns}`,
    artifact.repositoryId,
    artifact.runId,
    artifact.attempt,
    artifact.taskId,
    artifact.name,
    artifact.contentType,
    artifact.expiresAt,
    tx.now,
    tx.now,
  );
  if (row === undefined) throw new Error("the statement for the artifact returned no row");
  return toArtifact(row);
}

export async function findArtifact(
  db: Queries,
  id: ArtifactId,
): Promise<ActionArtifact | undefined> {
  const row = await db.get<ArtifactRow>(
    `SELECT ${columns} FROM forge_action_artifacts WHERE id = ?`,
    id,
  );
  return row && toArtifact(row);
}

/** Finds the newest artifact of a task that has this name: `pending` or `ready`. */
export async function findArtifactOfTask(
  db: Queries,
  taskId: TaskId,
  name: string,
  state: ArtifactState,
): Promise<ActionArtifact | undefined> {
  const row = await db.get<ArtifactRow>(
    `SELECT ${columns} FROM forge_action_artifacts WHERE task_id = ? AND name = ? AND state = ?
     ORDER BY id DESC LIMIT 1`,
    taskId,
    name,
    state,
  );
  return row && toArtifact(row);
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
  const rows = await db.all<ArtifactRow>(
    `SELECT ${columns} FROM forge_action_artifacts ${where} ORDER BY id LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { artifacts: rows.map(toArtifact), total: counted?.total ?? 0 };
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
  const rows = await db.all<ArtifactRow>(
    `SELECT ${columns} FROM forge_action_artifacts
     WHERE run_id = ? AND attempt BETWEEN ? AND ? AND state = 'ready' ORDER BY attempt DESC, id`,
    runId,
    fromAttempt,
    toAttempt,
  );
  return rows.map(toArtifact);
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
  await tx.run(
    `DELETE FROM forge_action_artifacts
     WHERE run_id = ? AND attempt = ? AND name = ? AND state = 'ready' AND id <> ?`,
    runId,
    attempt,
    name,
    id,
  );
  const row = await tx.get<{ id: ArtifactId }>(
    `UPDATE forge_action_artifacts SET state = 'ready', size = ?, object_sha256 = ?, updated_at = ?
     WHERE id = ? AND state = 'pending' RETURNING id`,
    object.size,
    object.sha256,
    tx.now,
    id,
  );
  await tx.run("DELETE FROM forge_action_artifact_blocks WHERE artifact_id = ?", id);
  return row !== undefined;
}

/** Deletes an artifact; the sweep of objects removes its bytes. */
export async function deleteArtifact(tx: Transaction, id: ArtifactId): Promise<void> {
  await tx.run("DELETE FROM forge_action_artifacts WHERE id = ?", id);
}

/** Adds a block, or replaces the one of the same id. */
export async function putBlock(
  tx: Transaction,
  artifactId: ArtifactId,
  { blockId, size, sha256 }: ArtifactBlock,
): Promise<void> {
  await tx.run(
    `INSERT INTO forge_action_artifact_blocks (artifact_id, block_id, size, object_sha256) VALUES (?, ?, ?, ?)
     ON CONFLICT (artifact_id, block_id) DO UPDATE SET size = excluded.size, object_sha256 = excluded.object_sha256`,
    artifactId,
    blockId,
    size,
    sha256,
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
  const rows = await db.all<BlockRow>(
    `SELECT block_id, position, size, object_sha256 FROM forge_action_artifact_blocks
     WHERE artifact_id = ? ORDER BY position, id`,
    artifactId,
  );
  const ordered = rows.filter(({ position }) => position !== null);
  return (ordered.length > 0 ? ordered : rows).map((row) => ({
    blockId: row.block_id,
    size: row.size,
    sha256: row.object_sha256,
  }));
}

/** Puts blocks in the order of a block list. Returns the first id that no block has, and changes nothing then. */
export async function orderBlocks(
  tx: Transaction,
  artifactId: ArtifactId,
  blockIds: readonly string[],
): Promise<string | undefined> {
  const rows = await tx.all<BlockRow>(
    `SELECT block_id, position, size, object_sha256 FROM forge_action_artifact_blocks WHERE artifact_id = ?`,
    artifactId,
  );
  const storedIds = new Set(rows.map(({ block_id: id }) => id));
  const missing = blockIds.find((id) => !storedIds.has(id));
  if (missing !== undefined) return missing;
  await tx.run(
    "UPDATE forge_action_artifact_blocks SET position = NULL WHERE artifact_id = ?",
    artifactId,
  );
  for (const [position, id] of blockIds.entries())
    await tx.run(
      "UPDATE forge_action_artifact_blocks SET position = ? WHERE artifact_id = ? AND block_id = ?",
      position,
      artifactId,
      id,
    );
  return undefined;
}

interface ArtifactRow {
  id: ArtifactId;
  repository_id: RepositoryId;
  run_id: RunId;
  attempt: number;
  task_id: TaskId;
  name: string;
  content_type: string;
  state: string;
  size: number;
  object_sha256: string | null;
  expires_at: number;
  created_at: number;
  updated_at: number;
}

interface BlockRow {
  block_id: string;
  position: number | null;
  size: number;
  object_sha256: string;
}

const columns = `id, repository_id, run_id, attempt, task_id, name, content_type, state, size, object_sha256, expires_at,
  created_at, updated_at`;

function toArtifact(row: ArtifactRow): ActionArtifact {
  return {
    id: row.id,
    repositoryId: row.repository_id,
    runId: row.run_id,
    attempt: row.attempt,
    taskId: row.task_id,
    name: row.name,
    contentType: row.content_type,
    state: row.state as ArtifactState,
    size: row.size,
    sha256: row.object_sha256 ?? undefined,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
