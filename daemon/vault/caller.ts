import type { NewAuditRecord } from "../../storage/tables/vault/audit-chain.ts";
import type { AccountId } from "../../storage/tables/vault/ids.ts";

// daemon/vault: the features of the vault API, one folder each. Start in api.ts, which finds the caller of a request and renders its errors.

/** `user` for registered accounts; `admin` may use the administration routes and no cloud item route. */
export type VaultRole = "user" | "admin";

/** The caller of a vault route: the bearer of a valid access token or machine token whose account is active. */
export interface VaultCaller {
  readonly userId: AccountId;
  readonly handle: string;
  readonly email: string;
  readonly role: VaultRole;
  /** The refresh family that the access token came from; undefined for a machine token. */
  readonly sessionId: string | undefined;
  /** The scope of the machine token; undefined for an access token. */
  readonly tokenScope?: "read" | "write" | undefined;
  /** The client's address, for audit records. */
  readonly address: string;
}

/** The audit record of a change by a user to an own resource. */
export function toAudit(
  caller: VaultCaller,
  eventType: string,
  resourceId: string,
  metadata: Readonly<Record<string, unknown>>,
): NewAuditRecord {
  return {
    eventType,
    userId: caller.userId,
    actorId: caller.userId,
    resourceId,
    ipAddress: caller.address,
    metadata,
  };
}
