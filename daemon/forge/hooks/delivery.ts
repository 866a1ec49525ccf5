import { createHmac } from "node:crypto";
import { z } from "zod";
import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import {
  type DeliveryAttempt,
  findDelivery,
  findOwnerOfDelivery,
  type HookDeliveryDetails,
  recordAttempt,
} from "../../../storage/tables/forge/hooks/deliveries.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import type { DeliveryId } from "../../../storage/tables/forge/ids.ts";
import {
  deleteOrphanedHook,
  findHook,
  type ForgeHook,
} from "../../../storage/tables/forge/hooks/hooks.ts";
import { assertNever } from "../../errors.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { GuardedRequest, OutboundOutcome } from "../../outbound/guarded-request.ts";
import { toOutgoing } from "./outgoing.ts";
import type { Targets } from "./targets.ts";

export interface DeliveryDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly random: () => number;
  readonly enqueue: Enqueue;
  readonly targets: Targets;
  readonly request: GuardedRequest;
}

const KIND = "forge.hooks.deliver";
/** Maximum number of concurrent deliveries: a slow receiver occupies one slot for at most `TIMEOUT_MS`. */
const CONCURRENCY = 16;
const TIMEOUT_MS = 5_000;
/** Maximum bytes of a response that are read and stored. */
const RESPONSE_BYTES_MAX = 64 * 1024;
/** Backoff before the second attempt and each further one; the last attempt is some four hours after the first. */
const RETRY_WAITS_MS = [10_000, 60_000, 600_000, 3_600_000, 10_800_000] as const;
/** Longest `Retry-After` that is respected. */
const RETRY_AFTER_MAX_MS = 3_600_000;
const REDACTED = "******";

// Payloads have had this schema since 0.1.0.
const payloadSchema = z.object({ deliveryId: z.int().brand<"DeliveryId">() });

/** Enqueues a delivery in the caller's transaction. */
export async function enqueueDelivery(
  enqueue: Enqueue,
  tx: Transaction,
  deliveryId: DeliveryId,
  runAt?: number,
): Promise<void> {
  const payload: z.input<typeof payloadSchema> = { deliveryId };
  const ownerId = await findOwnerOfDelivery(tx, deliveryId);
  const job = { kind: KIND, payload, account: ownerId === undefined ? "" : String(ownerId) };
  await enqueue(tx, runAt === undefined ? job : { ...job, runAt });
}

/**
 * Returns the job that sends deliveries, at least once: after a crash a delivery may be sent again, with the same UUID.
 * Failed attempts are retried with backoff where a retry may help. Each attempt is recorded before the next one.
 */
export function createDelivery(deps: DeliveryDeps): JobKind {
  const { db, clock, targets } = deps;
  return {
    kind: KIND,
    concurrency: CONCURRENCY,
    inTurns: true,
    async onAbandoned(tx, payload) {
      const { data } = payloadSchema.safeParse(payload);
      const delivery = data && (await findDelivery(tx, data.deliveryId));
      if (delivery?.state !== "waiting") return;
      await recordAttempt(tx, delivery.id, {
        ...nothing,
        state: "failed",
        attempts: delivery.attempts,
        nextAttemptAt: undefined,
        error: "the delivery was cancelled, or could not be attempted",
      });
    },
    async run(payload, { signal }) {
      const { deliveryId } = parsePayload(payloadSchema, payload);
      const delivery = await findDelivery(db, deliveryId);
      const hook = delivery && (await findHook(db, delivery.hookId));
      if (delivery === undefined || hook === undefined || delivery.state !== "waiting") return;
      if (!hook.isActive && !delivery.isRedelivery)
        return record(delivery, { ...nothing, state: "failed", error: "the hook is not active" });
      await attempt(delivery, hook, signal);
    },
  };

  async function attempt(
    delivery: HookDeliveryDetails,
    hook: ForgeHook,
    signal: AbortSignal,
  ): Promise<void> {
    const target = targets.open(hook);
    const begun = clock();
    const outgoing = toOutgoing(hook, target, delivery, begun);
    if (outgoing === undefined) {
      const error = `hooks of the kind ${hook.kind} do not receive this event`;
      return record(delivery, { ...nothing, state: "failed", error });
    }
    const headers = {
      "User-Agent": "croft",
      ...toHeaders(await findTargetType(db, hook), target.secret, delivery, outgoing.signed),
      "Content-Type": outgoing.contentType,
      ...(target.authorizationHeader === "" ? {} : { Authorization: target.authorizationHeader }),
    };
    const outcome = await deps.request({
      url: outgoing.url,
      method: outgoing.method,
      headers,
      body: outgoing.body,
      privateHeaders: ["authorization"],
      followsRedirects: "with_body",
      timeoutMs: TIMEOUT_MS,
      responseBytesMax: RESPONSE_BYTES_MAX,
      signal,
    });
    // The daemon is stopping: the job returns to the queue, and the attempt does not count.
    signal.throwIfAborted();
    const result = toResult(outcome, (text) => redact(text, target));
    await record(delivery, {
      ...result,
      attemptedAt: begun,
      durationMs: Math.max(0, Math.round(clock() - begun)),
      requestHeaders:
        headers.Authorization === undefined ? headers : { ...headers, Authorization: REDACTED },
    });
  }

  /** Records an attempt and enqueues the retry of a failed one, in one transaction. */
  async function record(delivery: HookDeliveryDetails, result: Result): Promise<void> {
    const attempts = delivery.attempts + (result.attemptedAt === undefined ? 0 : 1);
    const wait = result.state === "retry" ? RETRY_WAITS_MS[attempts - 1] : undefined;
    const { state, retryAfterMs = 0, ...recorded } = result;
    await db.transaction(async (tx) => {
      // Jitter of up to a fifth, so that deliveries that failed together are not retried together.
      const runAt =
        wait === undefined
          ? undefined
          : Math.round(tx.now + Math.max(wait, retryAfterMs) * (1 + deps.random() / 5));
      const written = state === "retry" ? (runAt === undefined ? "failed" : "waiting") : state;
      await recordAttempt(tx, delivery.id, {
        ...recorded,
        state: written,
        attempts,
        nextAttemptAt: runAt,
      });
      if (runAt !== undefined) await enqueueDelivery(deps.enqueue, tx, delivery.id, runAt);
      else await deleteOrphanedHook(tx, delivery.hookId);
    });
  }
}

/** An attempt whose retry is not decided yet. */
interface Result extends Omit<DeliveryAttempt, "state" | "attempts" | "nextAttemptAt"> {
  readonly state: "delivered" | "failed" | "retry";
  readonly retryAfterMs?: number;
}

const nothing = {
  attemptedAt: undefined,
  durationMs: undefined,
  requestHeaders: undefined,
  responseStatus: undefined,
  responseHeaders: undefined,
  responseBody: undefined,
} as const;

function toResult(outcome: OutboundOutcome, clean: (text: string) => string): Result {
  switch (outcome.kind) {
    case "refused":
      return { ...nothing, state: "failed", error: outcome.reason };
    case "failed":
      return { ...nothing, state: "retry", error: outcome.reason };
    case "answered": {
      const { status, headers, body } = outcome;
      const isDelivered = status >= 200 && status < 300;
      const isRedirect = status >= 301 && status <= 303;
      const mayHelp = status >= 500 || status === 408 || status === 425 || status === 429;
      return {
        ...nothing,
        state: isDelivered ? "delivered" : mayHelp ? "retry" : "failed",
        responseStatus: status,
        responseHeaders: Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, clean(storable(value))]),
        ),
        responseBody: clean(storable(body.toString("utf8"))),
        error: isDelivered
          ? undefined
          : isRedirect
            ? `the receiver redirects with ${status}, which drops the payload: change the address of the hook`
            : `the receiver answered ${status}`,
        retryAfterMs: toRetryAfter(headers["retry-after"]),
      };
    }
    default:
      return assertNever(outcome);
  }
}

function toRetryAfter(header: string | undefined): number {
  return /^\d{1,6}$/.test(header ?? "") ? Math.min(Number(header) * 1000, RETRY_AFTER_MAX_MS) : 0;
}

/** PostgreSQL stores no NUL in a text. */
function storable(text: string): string {
  return text.replaceAll("\0", "\uFFFD").toWellFormed();
}

/** A receiver that echoes the request must not put secrets into the log. */
function redact(
  text: string,
  target: { readonly secret: string; readonly authorizationHeader: string },
): string {
  return [target.secret, target.authorizationHeader]
    .filter((secret) => secret.length >= 4)
    .reduce((clean, secret) => clean.replaceAll(secret, REDACTED), text);
}

/** Returns the name of the hook's owner type. */
async function findTargetType(db: Queries, { scope, ownerId }: ForgeHook): Promise<string> {
  if (scope !== "owner") return scope;
  const owner = ownerId === undefined ? undefined : await findUserById(db, ownerId);
  return owner?.kind === "organization" ? "organization" : "user";
}

/** Returns the headers that name the event and sign the body. */
function toHeaders(
  targetType: string,
  secret: string,
  { uuid, event }: HookDeliveryDetails,
  signed: string,
): Record<string, string> {
  const sign = (algorithm: "sha1" | "sha256") =>
    secret === "" ? "" : createHmac(algorithm, secret).update(signed).digest("hex");
  const [sha1, sha256] = [sign("sha1"), sign("sha256")];
  return {
    "X-Gitea-Delivery": uuid,
    "X-Gitea-Event": toEventHeader(event),
    "X-Gitea-Event-Type": event,
    "X-Gitea-Signature": sha256,
    "X-Gitea-Hook-Installation-Target-Type": targetType,
    "X-Gogs-Delivery": uuid,
    "X-Gogs-Event": toEventHeader(event),
    "X-Gogs-Event-Type": event,
    "X-Gogs-Signature": sha256,
    "X-Hub-Signature": `sha1=${sha1}`,
    "X-Hub-Signature-256": `sha256=${sha256}`,
    "X-GitHub-Delivery": uuid,
    "X-GitHub-Event": toEventHeader(event),
    "X-GitHub-Event-Type": event,
    "X-GitHub-Hook-Installation-Target-Type": targetType,
  };
}

/** Returns the event for the headers, which is coarser than the events that hooks select. */
function toEventHeader(event: string): string {
  if (/^issue_(?:assign|label|milestone)$/.test(event)) return "issues";
  if (event === "pull_request_comment") return "issue_comment";
  if (/^pull_request_(?:assign|label|milestone|sync|review_request)$/.test(event))
    return "pull_request";
  const review = /^pull_request_review_(approved|rejected|comment)$/.exec(event)?.[1];
  return review === undefined ? event : `pull_request_${review}`;
}
