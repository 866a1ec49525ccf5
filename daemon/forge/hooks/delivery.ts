import { createHmac } from "node:crypto";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  type DeliveryTry,
  findDelivery,
  type HookDeliveryDetails,
  recordTry,
} from "../../../storage/tables/forge/hooks/deliveries.ts";
import { findHook, type ForgeHook } from "../../../storage/tables/forge/hooks/hooks.ts";
import { assertNever } from "../../errors.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { JobKind } from "../../jobs/job-kind.ts";
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
/** Deliveries under way at one time: a slow receiver holds one of them for `TIMEOUT_MS` at most. */
const CONCURRENCY = 16;
const TIMEOUT_MS = 5_000;
/** What is kept of an answer, in bytes; more is not read. */
const RESPONSE_BYTES_MAX = 64 * 1024;
/** The waits before the second try and each further one: the last is made some four hours after the first. */
const RETRY_WAITS_MS = [10_000, 60_000, 600_000, 3_600_000, 10_800_000] as const;
/** The longest wait that a receiver may ask for. */
const RETRY_AFTER_MAX_MS = 3_600_000;
const REDACTED = "******";

/** Has a delivery sent after the transaction. */
export async function enqueueDelivery(
  enqueue: Enqueue,
  tx: Transaction,
  deliveryId: number,
  runAt?: number,
): Promise<void> {
  const job = { kind: KIND, payload: { deliveryId } };
  await enqueue(tx, runAt === undefined ? job : { ...job, runAt });
}

/**
 * Sends deliveries. A delivery is sent at least once: a process that dies after sending sends it again, under the same
 * UUID. What fails is tried again while that may help, with growing waits; each try is written down before the next.
 */
export function createDelivery(deps: DeliveryDeps): JobKind {
  const { db, clock, targets } = deps;
  return {
    kind: KIND,
    concurrency: CONCURRENCY,
    async run(payload, { signal }) {
      const { deliveryId } = payload as { readonly deliveryId: number };
      const delivery = await findDelivery(db, deliveryId);
      const hook = delivery && (await findHook(db, delivery.hookId));
      if (delivery === undefined || hook === undefined || delivery.state !== "waiting") return;
      if (!hook.isActive && !delivery.isRedelivery)
        return settle(delivery, { ...nothing, state: "failed", error: "the hook is not active" });
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
      const error = `hooks of the kind ${hook.kind} are not told of this event`;
      return settle(delivery, { ...nothing, state: "failed", error });
    }
    const headers = {
      "User-Agent": "croft",
      ...toHeaders(hook, target.secret, delivery, outgoing.signed),
      "Content-Type": outgoing.contentType,
      ...(target.authorizationHeader === "" ? {} : { Authorization: target.authorizationHeader }),
    };
    const outcome = await deps.request({
      url: outgoing.url,
      method: outgoing.method,
      headers,
      body: outgoing.body,
      privateHeaders: ["authorization"],
      timeoutMs: TIMEOUT_MS,
      responseBytesMax: RESPONSE_BYTES_MAX,
      signal,
    });
    // The daemon stops: the job goes back to the queue, and the try does not count.
    signal.throwIfAborted();
    const result = toResult(outcome, (text) => redact(text, target));
    await settle(delivery, {
      ...result,
      attemptedAt: begun,
      durationMs: Math.max(0, Math.round(clock() - begun)),
      requestHeaders:
        headers.Authorization === undefined ? headers : { ...headers, Authorization: REDACTED },
    });
  }

  /** Writes a try down and, when it failed and may be repeated, has it repeated: both or neither. */
  async function settle(delivery: HookDeliveryDetails, result: Result): Promise<void> {
    const attempts = delivery.attempts + (result.attemptedAt === undefined ? 0 : 1);
    const wait = result.state === "retry" ? RETRY_WAITS_MS[attempts - 1] : undefined;
    const { state, retryAfterMs = 0, ...facts } = result;
    await db.transaction(async (tx) => {
      // Up to a fifth more, so that what failed together does not come back together.
      const runAt =
        wait === undefined
          ? undefined
          : Math.round(tx.now + Math.max(wait, retryAfterMs) * (1 + deps.random() / 5));
      const written = state === "retry" ? (runAt === undefined ? "failed" : "waiting") : state;
      await recordTry(tx, delivery.id, {
        ...facts,
        state: written,
        attempts,
        nextAttemptAt: runAt,
      });
      if (runAt !== undefined) await enqueueDelivery(deps.enqueue, tx, delivery.id, runAt);
    });
  }
}

/** A try before it is known when the next one is. */
interface Result extends Omit<DeliveryTry, "state" | "attempts" | "nextAttemptAt"> {
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
      return { ...nothing, state: "failed", error: outcome.why };
    case "failed":
      return { ...nothing, state: "retry", error: outcome.why };
    case "answered": {
      const { status, headers, body } = outcome;
      const isDelivered = status >= 200 && status < 300;
      const mayHelp = status >= 500 || status === 408 || status === 425 || status === 429;
      return {
        ...nothing,
        state: isDelivered ? "delivered" : mayHelp ? "retry" : "failed",
        responseStatus: status,
        responseHeaders: Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, clean(storable(value))]),
        ),
        responseBody: clean(storable(body.toString("utf8"))),
        error: isDelivered ? undefined : `the receiver answered ${status}`,
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

/** No database keeps a NUL in a text. */
function storable(text: string): string {
  return text.replaceAll("\0", "\uFFFD").toWellFormed();
}

/** A receiver that echoes what it was sent must not put secrets into the log. */
function redact(
  text: string,
  target: { readonly secret: string; readonly authorizationHeader: string },
): string {
  return [target.secret, target.authorizationHeader]
    .filter((secret) => secret.length >= 4)
    .reduce((clean, secret) => clean.replaceAll(secret, REDACTED), text);
}

/** The headers that tell a receiver what this is and that it is genuine (forge behaviour, 13.4). */
function toHeaders(
  hook: ForgeHook,
  secret: string,
  { uuid, event }: HookDeliveryDetails,
  signed: string,
): Record<string, string> {
  const sign = (algorithm: "sha1" | "sha256") =>
    secret === "" ? "" : createHmac(algorithm, secret).update(signed).digest("hex");
  const [sha1, sha256] = [sign("sha1"), sign("sha256")];
  const target = hook.scope;
  return {
    "X-Gitea-Delivery": uuid,
    "X-Gitea-Event": toEventHeader(event),
    "X-Gitea-Event-Type": event,
    "X-Gitea-Signature": sha256,
    "X-Gitea-Hook-Installation-Target-Type": target,
    "X-Gogs-Delivery": uuid,
    "X-Gogs-Event": toEventHeader(event),
    "X-Gogs-Event-Type": event,
    "X-Gogs-Signature": sha256,
    "X-Hub-Signature": `sha1=${sha1}`,
    "X-Hub-Signature-256": `sha256=${sha256}`,
    "X-GitHub-Delivery": uuid,
    "X-GitHub-Event": toEventHeader(event),
    "X-GitHub-Event-Type": event,
    "X-GitHub-Hook-Installation-Target-Type": target,
  };
}

/** The event as receivers know it, which is coarser than what hooks select (forge behaviour, 13.3). */
function toEventHeader(event: string): string {
  if (/^issue_(?:assign|label|milestone)$/.test(event)) return "issues";
  if (event === "pull_request_comment") return "issue_comment";
  if (/^pull_request_(?:assign|label|milestone|sync|review_request)$/.test(event))
    return "pull_request";
  const review = /^pull_request_review_(approved|rejected|comment)$/.exec(event)?.[1];
  return review === undefined ? event : `pull_request_${review}`;
}
