import { createAccessLog } from "../http/access-log.ts";
import type { BinderOptions } from "../http/bind.ts";
import { createBodyBudgets } from "../http/body-memory.ts";
import { createClientAddress } from "../http/client-address.ts";
import { createRequestLimiter } from "../http/limits.ts";
import { createMetrics } from "../http/metrics.ts";
import { createServerRequest } from "../http/server-request.ts";
import type { ServiceDeps } from "./services.ts";

/** What all surfaces of the daemon share. */
export type TransportTools = ReturnType<typeof createTransportTools>;

export function createTransportTools(deps: ServiceDeps) {
  const { db, input, stores, addresses, log, queue } = deps;
  const { settings, version } = input;
  const metrics = createMetrics(version, () => queue.stalledMs());
  const writeLine = createAccessLog(log, metrics);
  const binder: BinderOptions = {
    limiter: createRequestLimiter(deps.limiter, db),
    bodies: createBodyBudgets(settings.maxBodyBytes),
    publicUrl: addresses.publicUrl,
    maxJsonBytes: settings.maxBodyBytes,
    maxUploadBytes: settings.maxUploadBytes,
    temporaryDirectory: stores.directory.tmp,
    spendReserve: (failure, work) => stores.reserve.spend(failure, work),
    checkReplies: input.checkReplies ?? false,
    toServerRequest: createServerRequest(createClientAddress(settings.trustedProxies)),
    report(result) {
      writeLine(result);
      input.onAnswer?.(result.route, result.status);
    },
  };
  const reportBug = (error: unknown, request: { readonly id: string } | undefined) =>
    log.error({ err: error, request_id: request?.id }, "a page failed");
  return { metrics, binder, reportBug };
}
