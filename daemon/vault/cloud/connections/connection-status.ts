import type { ConnectFailure, Failure, ReadFailure } from "../../../../storage/cloud/outcomes.ts";
import type { ConnectionStatus } from "../../../../storage/tables/vault/connections.ts";

/** Returns the status of a connection that follows from an outcome; undefined when the status does not change. */
export function statusAfter(outcome: string): ConnectionStatus | undefined {
  switch (outcome as (Failure | ReadFailure | { kind: "ok" })["kind"]) {
    case "reauth":
      return "reauth_required";
    case "offline":
      return "offline";
    case "ok":
    case "stale":
    case "conflict":
    case "not_found":
      return "connected";
    default:
      return undefined;
  }
}

/**
 * Returns the status of a connection after a check of its storage: a failure that is not due to the credentials means that
 * the storage is offline.
 */
export function statusAfterCheck(
  outcome: { readonly kind: "ok" } | ConnectFailure | Failure,
): ConnectionStatus {
  if (outcome.kind === "ok") return "connected";
  return outcome.kind === "reauth" ? "reauth_required" : "offline";
}

/** The log level of an outcome; undefined for outcomes that are not the storage's fault. */
export function logLevelOf(outcome: string): "warn" | "info" | undefined {
  switch (outcome as (Failure | ReadFailure | { kind: "ok" })["kind"]) {
    case "forbidden":
    case "unknown_outcome":
      return "warn";
    case "reauth":
    case "offline":
    case "rate_limited":
    case "quota_exceeded":
    case "locked":
      return "info";
    default:
      return undefined;
  }
}
