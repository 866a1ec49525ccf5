import { type Database, isConflict } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  countMachineTokens,
  deleteMachineToken,
  findMachineToken,
  insertMachineToken,
  listMachineTokens,
  type MachineToken,
  type MachineTokenScope,
  recordMachineTokenUse,
} from "../../../storage/tables/vault/machine-tokens.ts";
import { AppError } from "../../errors.ts";
import { writeIfPossible } from "../../utilities/within.ts";
import type { VaultCaller } from "../caller.ts";
import { toFieldError } from "../cloud/field-error.ts";
import type { PageRequest } from "../page.ts";
import {
  hashMachineToken,
  isWellFormedMachineToken,
  makeMachineToken,
} from "./machine-token-secret.ts";

export type MachineTokens = ReturnType<typeof createMachineTokens>;

export interface MachineTokensDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly randomBytes: (length: number) => Uint8Array;
  readonly newId: () => string;
}

const TOKENS_PER_USER_MAX = 100;
/** Minimum interval between updates of the last use, so that reads do not cost a write. */
const RECORD_EVERY_MS = 60_000;

/** Tokens for scripts. They end by deletion, by expiry and with the deactivation of their account. */
export function createMachineTokens(deps: MachineTokensDeps) {
  const { db, clock, randomBytes, newId } = deps;
  return {
    /**
     * Creates a token and returns its secret, which is not stored. Throws `conflict` for a name in use and for too many
     * tokens, `unprocessable` for an expiry in the past.
     */
    async create(
      { userId, address }: VaultCaller,
      {
        name,
        scope,
        expiresAt,
      }: {
        readonly name: string;
        readonly scope: MachineTokenScope;
        readonly expiresAt: number | undefined;
      },
    ): Promise<{ readonly token: MachineToken; readonly secret: string }> {
      if (expiresAt !== undefined && expiresAt <= clock())
        throw toFieldError(["body", "expires_at"], "The expiry is in the past", "value_error");
      const secret = makeMachineToken(randomBytes);
      try {
        const token = await db.transaction(async (tx) => {
          if ((await countMachineTokens(tx, userId)) >= TOKENS_PER_USER_MAX)
            throw new AppError("conflict", `An account has at most ${TOKENS_PER_USER_MAX} tokens`);
          const inserted = await insertMachineToken(
            tx,
            { id: newId(), userId, name, scope, expiresAt },
            hashMachineToken(secret),
          );
          await insertAudit(tx, {
            eventType: "auth.token_created",
            userId,
            actorId: userId,
            resourceId: inserted.id,
            ipAddress: address,
            metadata: { scope },
          });
          return inserted;
        });
        return { token, secret };
      } catch (error) {
        if (!isConflict(error)) throw error;
        throw new AppError("conflict", "There is a token of this name already", { cause: error });
      }
    },

    /** Returns one page of the caller's tokens, newest first. */
    list: (
      { userId }: VaultCaller,
      { page, perPage }: PageRequest,
    ): Promise<{ readonly tokens: readonly MachineToken[]; readonly total: number }> =>
      listMachineTokens(db, userId, { limit: perPage, offset: (page - 1) * perPage }),

    /** Deletes one of the caller's tokens. Throws `not_found`. */
    async revoke({ userId, address }: VaultCaller, id: string): Promise<void> {
      const revoked = await db.transaction(async (tx) => {
        const token = await deleteMachineToken(tx, userId, id);
        if (token === undefined) return false;
        await insertAudit(tx, {
          eventType: "auth.token_revoked",
          userId,
          actorId: userId,
          resourceId: id,
          ipAddress: address,
          metadata: { scope: token.scope },
        });
        return true;
      });
      if (!revoked) throw new AppError("not_found", "Token not found");
    },

    /** Returns the live token of a secret and records the use, at most once a minute. */
    async find(secret: string): Promise<MachineToken | undefined> {
      if (!isWellFormedMachineToken(secret)) return undefined;
      const token = await findMachineToken(db, hashMachineToken(secret));
      const now = clock();
      if (token === undefined || (token.expiresAt !== undefined && token.expiresAt <= now))
        return undefined;
      await recordUse(token, now);
      return token;
    },
  };

  async function recordUse({ id, lastUsedAt }: MachineToken, now: number): Promise<void> {
    const before = now - RECORD_EVERY_MS;
    if (lastUsedAt !== undefined && lastUsedAt > before) return;
    await writeIfPossible(() => recordMachineTokenUse(db, id, { now, before }));
  }
}
