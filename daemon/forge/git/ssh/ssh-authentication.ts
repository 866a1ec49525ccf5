import { createHash } from "node:crypto";
import type { Database } from "../../../../storage/engine/database.ts";
import {
  findPublicKeyByFingerprint,
  touchPublicKey,
} from "../../../../storage/tables/forge/accounts/keys.ts";
import { findUserById, type ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import {
  findDeployKeyByFingerprint,
  isDeployKey,
} from "../../../../storage/tables/forge/repositories/deploy-keys.ts";
import { writeIfPossible } from "../../../utilities/within.ts";
import type { ActingUser, ForgeCaller } from "../../caller.ts";
import { notFound } from "../../refusals.ts";
import { findOwned, type RepositoryPath } from "../../repositories/find-repository.ts";
import type { KeyId } from "../../../../storage/tables/forge/ids.ts";

/** The user name of every client; the key identifies the account. */
const USERNAME = "git";
/** A key's last use is stored at most once in this time, so that a busy key costs few writes. */
const TOUCH_AFTER_MS = 60_000;

/** The account of a key: the caller, or a message for the user why the key cannot be used. */
export type SshCaller =
  | { readonly kind: "caller"; readonly caller: ForgeCaller }
  /** A deploy key that was used without naming a repository. */
  | { readonly kind: "deploy_key" }
  | { readonly kind: "refused"; readonly reason: string };

export type SshAuthentication = ReturnType<typeof createSshAuthentication>;

/** Looks up the holders of keys. */
export function createSshAuthentication({
  db,
  clock,
}: {
  readonly db: Database;
  readonly clock: () => number;
}) {
  return {
    /** Returns whether the key in wire format opens an account or a repository, under the name that clients sign in by. */
    async knows(username: string, key: Buffer): Promise<boolean> {
      if (username !== USERNAME) return false;
      const fingerprint = toFingerprint(key);
      return (
        (await findPublicKeyByFingerprint(db, fingerprint)) !== undefined ||
        isDeployKey(db, fingerprint)
      );
    },

    /**
     * Returns the caller that a key signs in, by the current state: a connection may outlive its key, and the right of
     * its account to sign in. A deploy key acts for the owner of the repository, with its own grant. Throws `not_found`
     * for a repository that a deploy key does not open.
     */
    async findCaller(blob: Buffer, path: RepositoryPath | undefined): Promise<SshCaller> {
      const fingerprint = toFingerprint(blob);
      const key = await findPublicKeyByFingerprint(db, fingerprint);
      if (key === undefined && (await isDeployKey(db, fingerprint)))
        return path === undefined ? { kind: "deploy_key" } : findHolder(fingerprint, path);
      const user = key && (await findUserById(db, key.userId));
      if (key === undefined || user === undefined)
        return refused("The key is no longer registered.");
      if (!isAllowed(user)) return prohibited();
      if (user.mustChangePassword)
        return refused('You must change your password, with "croft account password".');
      const now = clock();
      if (now - key.lastUsedAt > TOUCH_AFTER_MS)
        await writeIfPossible(() => touchPublicKey(db, key.id, now));
      return toCaller(user, key.id);
    },
  };

  async function findHolder(fingerprint: string, path: RepositoryPath): Promise<SshCaller> {
    const found = await findOwned(db, path);
    const key = found && (await findDeployKeyByFingerprint(db, found.repository.id, fingerprint));
    if (found === undefined || key === undefined) throw notFound();
    const { repository, owner } = found;
    // An organization never signs in, so the prohibition does not apply to it.
    if (owner.kind === "individual" && !isAllowed(owner)) return prohibited();
    const access = key.isReadOnly ? "read" : "write";
    return toCaller({ ...owner, deployKey: { id: key.id, repositoryId: repository.id, access } });
  }
}

const isAllowed = ({ isActive, prohibitLogin }: ForgeUser) => isActive && !prohibitLogin;

const toCaller = (user: ActingUser, keyId?: KeyId): SshCaller => ({
  kind: "caller",
  caller: {
    user,
    actor: user,
    method: "ssh_key",
    scope: undefined,
    ...(keyId === undefined ? {} : { keyId }),
  },
});

const prohibited = () =>
  refused("This account is prohibited from signing in, please contact your site administrator.");

const refused = (reason: string): SshCaller => ({ kind: "refused", reason });

/** Returns the fingerprint of a key in wire format, by which keys are stored. */
function toFingerprint(key: Buffer): string {
  return `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=+$/, "")}`;
}
