import { z } from "zod";
import type { Queries, Row, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";
import type { DeliveryId, HookId, UserId } from "../ids.ts";

export type DeliveryState = "waiting" | "delivered" | "failed";

/**
 * A delivery without its bodies. Times are epoch milliseconds; `attemptedAt` and the fields after it are of the latest
 * attempt.
 */
export interface HookDelivery {
  readonly id: DeliveryId;
  readonly hookId: HookId;
  /** The same for every attempt. */
  readonly uuid: string;
  /** The event's word, such as `push`. */
  readonly event: string;
  readonly isRedelivery: boolean;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly createdAt: number;
  readonly attemptedAt: number | undefined;
  readonly nextAttemptAt: number | undefined;
  readonly durationMs: number | undefined;
  readonly responseStatus: number | undefined;
  readonly error: string | undefined;
}

const headersSchema = z.record(z.string(), z.string());
/** Headers by name as they were sent or received. */
export type HeaderRecord = Readonly<z.output<typeof headersSchema>>;

/** A delivery with its request and response. */
export interface HookDeliveryDetails extends HookDelivery {
  /** JSON text. */
  readonly payload: string;
  readonly requestHeaders: HeaderRecord | undefined;
  readonly responseHeaders: HeaderRecord | undefined;
  readonly responseBody: string | undefined;
}

/** The result of one attempt. */
export type DeliveryAttempt = Pick<
  HookDeliveryDetails,
  | "state"
  | "attempts"
  | "attemptedAt"
  | "nextAttemptAt"
  | "durationMs"
  | "requestHeaders"
  | "responseStatus"
  | "responseHeaders"
  | "responseBody"
  | "error"
>;

/** Returns the owner of a delivery's hook, or of its repository; undefined for a hook of the instance. */
export async function findOwnerOfDelivery(
  db: Queries,
  id: DeliveryId,
): Promise<UserId | undefined> {
  const row = await db.get<{ owner_id: UserId | null }>(
    `SELECT COALESCE(h.owner_id, r.owner_id) AS owner_id FROM forge_hook_deliveries d
     JOIN forge_hooks h ON h.id = d.hook_id LEFT JOIN forge_repositories r ON r.id = h.repository_id
     WHERE d.id = ?`,
    id,
  );
  return row?.owner_id ?? undefined;
}

/** Adds a waiting delivery and returns its id. */
export async function insertDelivery(
  tx: Transaction,
  delivery: Pick<HookDeliveryDetails, "hookId" | "uuid" | "event" | "payload" | "isRedelivery">,
): Promise<DeliveryId> {
  const row = await tx.get<{ id: DeliveryId }>(
    `INSERT INTO forge_hook_deliveries
       (hook_id, uuid, event, payload, is_redelivery, state, attempts, created_at, next_attempt_at)
     VALUES (?, ?, ?, ?, ?, 'waiting', 0, ?, ?) RETURNING id`,
    delivery.hookId,
    delivery.uuid,
    delivery.event,
    delivery.payload,
    Number(delivery.isRedelivery),
    tx.now,
    tx.now,
  );
  if (row === undefined) throw new Error("the statement for the delivery returned no row");
  await adjustTotal(tx, delivery.hookId, "waiting", 1);
  return row.id;
}

/** Records the result of an attempt. */
export async function recordAttempt(
  tx: Transaction,
  id: DeliveryId,
  attempt: DeliveryAttempt,
): Promise<void> {
  const before = await tx.get<{ hook_id: HookId; state: DeliveryState }>(
    "SELECT hook_id, state FROM forge_hook_deliveries WHERE id = ?",
    id,
  );
  if (before === undefined) return;
  if (before.state !== attempt.state) {
    await adjustTotal(tx, before.hook_id, before.state, -1);
    await adjustTotal(tx, before.hook_id, attempt.state, 1);
  }
  await tx.run(
    `UPDATE forge_hook_deliveries SET state = ?, attempts = ?, attempted_at = ?, next_attempt_at = ?, duration_ms = ?,
       request_headers = ?, response_status = ?, response_headers = ?, response_body = ?, error = ? WHERE id = ?`,
    attempt.state,
    attempt.attempts,
    attempt.attemptedAt ?? null,
    attempt.nextAttemptAt ?? null,
    attempt.durationMs ?? null,
    toJson(attempt.requestHeaders),
    attempt.responseStatus ?? null,
    toJson(attempt.responseHeaders),
    attempt.responseBody ?? null,
    attempt.error ?? null,
    id,
  );
}

export async function findDelivery(
  db: Queries,
  id: DeliveryId,
): Promise<HookDeliveryDetails | undefined> {
  const row = await db.get<DetailsRow>(
    `SELECT ${columns}, payload, request_headers, response_headers, response_body
     FROM forge_hook_deliveries WHERE id = ?`,
    id,
  );
  return row && toDetails(row);
}

/** A page of a hook's deliveries, newest first, and the count of all; of one state when it is given. */
export async function listDeliveries(
  db: Queries,
  hookId: HookId,
  state: DeliveryState | undefined,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly deliveries: readonly HookDelivery[]; readonly total: number }> {
  const within = state === undefined ? "hook_id = ?" : "hook_id = ? AND state = ?";
  const values = state === undefined ? [hookId] : [hookId, state];
  const counted = await db.get<{ total: number }>(
    `SELECT CAST(COALESCE(SUM(deliveries), 0) AS BIGINT) AS total FROM forge_hook_totals WHERE ${within}`,
    ...values,
  );
  const total = counted?.total ?? 0;
  const limit = Math.min(window.limit, total - window.offset);
  if (limit <= 0) return { deliveries: [], total };
  // The second half of the list is read from its end, and ids come from an index alone.
  const fromEnd = total - window.offset - limit;
  const isBackwards = fromEnd < window.offset;
  const rows = await db.all<DeliveryRow>(
    `SELECT ${columns} FROM forge_hook_deliveries WHERE id IN (
       SELECT id FROM forge_hook_deliveries WHERE ${within} ORDER BY id ${isBackwards ? "ASC" : "DESC"} LIMIT ? OFFSET ?)
     ORDER BY id DESC`,
    ...values,
    limit,
    isBackwards ? fromEnd : window.offset,
  );
  return { deliveries: rows.map(toDelivery), total };
}

/** Deletes finished deliveries made before a time (epoch milliseconds). Returns how many. */
export async function deleteDeliveriesBefore(tx: Transaction, before: number): Promise<number> {
  const old = "FROM forge_hook_deliveries WHERE state <> 'waiting' AND created_at < ?";
  const counted = await tx.all<{ hook_id: HookId; state: DeliveryState; deliveries: number }>(
    `SELECT hook_id, state, COUNT(*) AS deliveries ${old} GROUP BY hook_id, state`,
    before,
  );
  for (const { hook_id: hookId, state, deliveries } of counted)
    await adjustTotal(tx, hookId, state, -deliveries);
  return (await tx.run(`DELETE ${old}`, before)).changes;
}

async function adjustTotal(
  tx: Transaction,
  hookId: HookId,
  state: DeliveryState,
  by: number,
): Promise<void> {
  await tx.run(
    `INSERT INTO forge_hook_totals (hook_id, state, deliveries) VALUES (?, ?, ?)
     ON CONFLICT (hook_id, state) DO UPDATE SET deliveries = forge_hook_totals.deliveries + excluded.deliveries`,
    hookId,
    state,
    by,
  );
}

interface DeliveryRow extends Row {
  id: DeliveryId;
  hook_id: HookId;
  uuid: string;
  event: string;
  is_redelivery: number;
  state: DeliveryState;
  attempts: number;
  created_at: number;
  attempted_at: number | null;
  next_attempt_at: number | null;
  duration_ms: number | null;
  response_status: number | null;
  error: string | null;
}

interface DetailsRow extends DeliveryRow {
  payload: string;
  request_headers: string | null;
  response_headers: string | null;
  response_body: string | null;
}

const columns =
  "id, hook_id, uuid, event, is_redelivery, state, attempts, created_at, attempted_at, next_attempt_at, duration_ms, " +
  "response_status, error";

function toDelivery(row: DeliveryRow): HookDelivery {
  return {
    id: row.id,
    hookId: row.hook_id,
    uuid: row.uuid,
    event: row.event,
    isRedelivery: row.is_redelivery === 1,
    state: row.state,
    attempts: row.attempts,
    createdAt: row.created_at,
    attemptedAt: row.attempted_at ?? undefined,
    nextAttemptAt: row.next_attempt_at ?? undefined,
    durationMs: row.duration_ms ?? undefined,
    responseStatus: row.response_status ?? undefined,
    error: row.error ?? undefined,
  };
}

function toDetails(row: DetailsRow): HookDeliveryDetails {
  return {
    ...toDelivery(row),
    payload: row.payload,
    requestHeaders: toHeaders(row.request_headers, "request_headers"),
    responseHeaders: toHeaders(row.response_headers, "response_headers"),
    responseBody: row.response_body ?? undefined,
  };
}

function toJson(headers: HeaderRecord | undefined): string | null {
  return headers === undefined ? null : JSON.stringify(headers);
}

function toHeaders(text: string | null, column: string): HeaderRecord | undefined {
  return text === null
    ? undefined
    : parseColumn(headersSchema, text, `forge_hook_deliveries.${column}`);
}
