import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";
import type { DeliveryId, HookId, UserId } from "../ids.ts";
import { flag, generated, id, integer, now, optional, text, unread, json } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";

export type DeliveryState = "waiting" | "delivered" | "failed";

const headersSchema = z.record(z.string(), z.string());

const deliveries = defineTable("forge_hook_deliveries", {
  id: generated(id<DeliveryId>()),
  hookId: id<HookId>(),
  /** The same for every attempt. */
  uuid: text(),
  /** The event's word, such as `push`. */
  event: text(),
  isRedelivery: flag(),
  state: text<DeliveryState>(),
  attempts: integer(),
  createdAt: now(),
  attemptedAt: optional(integer()),
  nextAttemptAt: optional(integer()),
  durationMs: optional(integer()),
  responseStatus: optional(integer()),
  error: optional(text()),
  payload: unread(text()),
  requestHeaders: unread(optional(json(headersSchema))),
  responseHeaders: unread(optional(json(headersSchema))),
  responseBody: unread(optional(text())),
});
/**
 * A delivery without its bodies. Times are epoch milliseconds; `attemptedAt` and the fields after it are of the latest
 * attempt.
 */
export type HookDelivery = RecordOf<typeof deliveries>;

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
  const row = await deliveries.insert(tx, {
    ...delivery,
    state: "waiting",
    attempts: 0,
    nextAttemptAt: tx.now,
  });
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
  await deliveries.update(
    tx,
    { id },
    {
      state: attempt.state,
      attempts: attempt.attempts,
      attemptedAt: attempt.attemptedAt,
      nextAttemptAt: attempt.nextAttemptAt,
      durationMs: attempt.durationMs,
      requestHeaders: attempt.requestHeaders,
      responseStatus: attempt.responseStatus,
      responseHeaders: attempt.responseHeaders,
      responseBody: attempt.responseBody,
      error: attempt.error,
    },
  );
}

export async function findDelivery(
  db: Queries,
  id: DeliveryId,
): Promise<HookDeliveryDetails | undefined> {
  const row = await db.get<DetailsRow>(
    `SELECT ${deliveries.columns}, payload, request_headers, response_headers, response_body
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
  const rows = await deliveries.readAll(
    db,
    `SELECT ${deliveries.columns} FROM forge_hook_deliveries WHERE id IN (
       SELECT id FROM forge_hook_deliveries WHERE ${within} ORDER BY id ${isBackwards ? "ASC" : "DESC"} LIMIT ? OFFSET ?)
     ORDER BY id DESC`,
    ...values,
    limit,
    isBackwards ? fromEnd : window.offset,
  );
  return { deliveries: rows, total };
}

/**
 * Deletes up to `limit` finished deliveries made before a time (epoch milliseconds), the oldest first. Returns how many
 * there were.
 */
export async function deleteDeliveriesBefore(
  tx: Transaction,
  before: number,
  limit: number,
): Promise<number> {
  const deleted = await tx.all<{ hook_id: HookId; state: DeliveryState }>(
    `DELETE FROM forge_hook_deliveries WHERE id IN (
       SELECT d.id FROM forge_hook_deliveries d WHERE d.state <> 'waiting' AND d.created_at < ? ORDER BY d.created_at LIMIT ?)
     RETURNING hook_id, state`,
    before,
    limit,
  );
  const ofHooks = Map.groupBy(deleted, ({ hook_id: hookId, state }) => `${hookId} ${state}`);
  for (const [first, ...others] of ofHooks.values())
    if (first !== undefined) await adjustTotal(tx, first.hook_id, first.state, -1 - others.length);
  return deleted.length;
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

interface DetailsRow {
  payload: string;
  request_headers: string | null;
  response_headers: string | null;
  response_body: string | null;
}

function toDetails(row: DetailsRow): HookDeliveryDetails {
  return {
    ...deliveries.read(row),
    payload: row.payload,
    requestHeaders: toHeaders(row.request_headers, "request_headers"),
    responseHeaders: toHeaders(row.response_headers, "response_headers"),
    responseBody: row.response_body ?? undefined,
  };
}

function toHeaders(text: string | null, column: string): HeaderRecord | undefined {
  return text === null
    ? undefined
    : parseColumn(headersSchema, text, `forge_hook_deliveries.${column}`);
}
