import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";
import type { DeliveryId, HookId, PayloadId, UserId } from "../ids.ts";
import { flag, generated, id, integer, now, optional, text, unread, json } from "../../columns.ts";
import { sql } from "../../condition.ts";
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
  /** That of a delivery of an earlier version; empty for others. */
  payload: unread(text()),
  payloadId: unread(optional(id<PayloadId>())),
  requestHeaders: unread(optional(json(headersSchema))),
  responseHeaders: unread(optional(json(headersSchema))),
  responseBody: unread(optional(text())),
});
const payloads = defineTable("forge_hook_payloads", {
  id: generated(id<PayloadId>()),
  payload: text(),
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
  /** Undefined for a delivery of an earlier version. */
  readonly payloadId: PayloadId | undefined;
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

/** Adds the payload that all deliveries of an event share. It is deleted with the last of them. */
export async function insertPayload(tx: Transaction, payload: string): Promise<PayloadId> {
  return (await payloads.insert(tx, { payload })).id;
}

/** Adds a waiting delivery and returns its id. */
export async function insertDelivery(
  tx: Transaction,
  delivery: Pick<HookDeliveryDetails, "hookId" | "uuid" | "event" | "isRedelivery"> & {
    readonly payloadId: PayloadId;
  },
): Promise<DeliveryId> {
  const row = await deliveries.insert(tx, {
    ...delivery,
    payload: "",
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
    `SELECT ${deliveries.columns}, payload_id, request_headers, response_headers, response_body,
       COALESCE((SELECT shared.payload FROM forge_hook_payloads AS shared WHERE shared.id = payload_id), payload) AS payload
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
  const deleted = await tx.all<{
    hook_id: HookId;
    state: DeliveryState;
    payload_id: PayloadId | null;
  }>(
    `DELETE FROM forge_hook_deliveries WHERE id IN (
       SELECT d.id FROM forge_hook_deliveries d WHERE d.state <> 'waiting' AND d.created_at < ? ORDER BY d.created_at LIMIT ?)
     RETURNING hook_id, state, payload_id`,
    before,
    limit,
  );
  const ofHooks = Map.groupBy(deleted, ({ hook_id: hookId, state }) => `${hookId} ${state}`);
  for (const [first, ...others] of ofHooks.values())
    if (first !== undefined) await adjustTotal(tx, first.hook_id, first.state, -1 - others.length);
  await deleteUnusedPayloads(tx, deleted);
  return deleted.length;
}

/** Deletes up to `limit` deliveries of a hook that is deleted itself afterwards. Returns how many there were. */
export async function deleteDeliveriesOf(
  tx: Transaction,
  hookId: HookId,
  limit: number,
): Promise<number> {
  const deleted = await tx.all<{ payload_id: PayloadId | null }>(
    `DELETE FROM forge_hook_deliveries WHERE id IN (
       SELECT d.id FROM forge_hook_deliveries d WHERE d.hook_id = ? ORDER BY d.id LIMIT ?)
     RETURNING payload_id`,
    hookId,
    limit,
  );
  await deleteUnusedPayloads(tx, deleted);
  return deleted.length;
}

async function deleteUnusedPayloads(
  tx: Transaction,
  deleted: readonly { readonly payload_id: PayloadId | null }[],
): Promise<void> {
  const ids = [...new Set(deleted.flatMap(({ payload_id: payloadId }) => payloadId ?? []))];
  if (ids.length === 0) return;
  await payloads.delete(
    tx,
    sql`id IN (${ids}) AND NOT EXISTS (
      SELECT 1 FROM forge_hook_deliveries AS d WHERE d.payload_id = forge_hook_payloads.id)`,
  );
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
  payload_id: PayloadId | null;
  request_headers: string | null;
  response_headers: string | null;
  response_body: string | null;
}

function toDetails(row: DetailsRow): HookDeliveryDetails {
  return {
    ...deliveries.read(row),
    payload: row.payload,
    payloadId: row.payload_id ?? undefined,
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
