import { createHash } from "node:crypto";
import type { Database } from "../../../../storage/engine/database.ts";
import {
  findPublicKeyByFingerprint,
  touchPublicKey,
} from "../../../../storage/tables/forge/accounts/keys.ts";
import { findUserById } from "../../../../storage/tables/forge/accounts/users.ts";
import type { ForgeCaller } from "../../caller.ts";

/** The name by which every client signs in; the key tells who it is. */
const USERNAME = "git";
/** A use is noted when the last one was so long ago, so that a busy key costs few writes. */
const TOUCH_AFTER_MS = 60_000;

/** Why an account whose key is right may not use it now, for the user to read. */
export type SshCaller =
  | { readonly kind: "caller"; readonly caller: ForgeCaller }
  | { readonly kind: "refused"; readonly reason: string };

/** Who the holders of keys are. */
export interface SshAuthentication {
  /** Returns whether the key in wire format belongs to an account, under the name that clients sign in by. */
  knows(username: string, key: Buffer): Promise<boolean>;
  /**
   * Returns the caller that a key signs in, as things are now: a connection outlives the deletion of its key and the lock
   * of its account.
   */
  findCaller(key: Buffer): Promise<SshCaller>;
}

export function createSshAuthentication({
  db,
  clock,
}: {
  readonly db: Database;
  readonly clock: () => number;
}): SshAuthentication {
  return {
    async knows(username, key) {
      if (username !== USERNAME) return false;
      return (await findPublicKeyByFingerprint(db, toFingerprint(key))) !== undefined;
    },

    async findCaller(blob) {
      const key = await findPublicKeyByFingerprint(db, toFingerprint(blob));
      const user = key && (await findUserById(db, key.userId));
      if (key === undefined || user === undefined) return refused("The key is not known any more.");
      if (!user.isActive || user.prohibitLogin)
        return refused(
          "This account is prohibited from signing in, please contact your site administrator.",
        );
      if (user.mustChangePassword)
        return refused('You must change your password, with "croft account password".');
      const now = clock();
      if (now - key.lastUsedAt > TOUCH_AFTER_MS) await touchPublicKey(db, key.id, now);
      return { kind: "caller", caller: { user, actor: user, method: "ssh_key", scope: undefined } };
    },
  };
}

const refused = (reason: string): SshCaller => ({ kind: "refused", reason });

/** Returns the fingerprint of a key in wire format, as keys are stored by it. */
function toFingerprint(key: Buffer): string {
  return `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=+$/, "")}`;
}
