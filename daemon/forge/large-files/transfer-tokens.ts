import { z } from "zod";
import type { Database } from "../../../storage/engine/database.ts";
import { type Sealer, SealError } from "../../../storage/keys/keyring.ts";
import { findPublicKey } from "../../../storage/tables/forge/accounts/keys.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import type { DeployKeyId, KeyId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { findDeployKey } from "../../../storage/tables/forge/repositories/deploy-keys.ts";
import { isStillSignedIn } from "../accounts/authentication.ts";
import type { ForgeCaller } from "../caller.ts";
import { findOwned, type RepositoryPath } from "../repositories/repositories.service.ts";
import type { OwnedRepository } from "../events.ts";
import type { LargeFileOperation } from "./large-files.service.ts";

const PURPOSE = "large_files";
/** Tells these tokens from other credentials. */
const PREFIX = "croft-lfs-";
/** A client asks for another one when it has expired. */
const LIFETIME_SECONDS = 3_600;

const grantSchema = z.object({
  key: z.discriminatedUnion("of", [
    z.object({ of: z.literal("account"), id: z.int() }),
    z.object({ of: z.literal("repository"), id: z.int() }),
  ]),
  operation: z.enum(["upload", "download"]),
  expiresAt: z.int(),
});
type Grant = z.infer<typeof grantSchema>;

export interface TransferToken {
  readonly token: string;
  readonly expiresInSeconds: number;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

export type TransferTokens = ReturnType<typeof createTransferTokens>;

/**
 * Tokens that let a client which has signed in with an SSH key transfer the large files of one repository over HTTP. They are
 * sealed, not stored: a token ends with its key, and after an hour.
 */
export function createTransferTokens({
  db,
  sealer,
  clock,
}: {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly clock: () => number;
}) {
  return {
    /** Returns a token for a caller who has signed in with an SSH key. */
    issue(
      { keyId, user: { deployKey } }: ForgeCaller,
      { repository }: OwnedRepository,
      operation: LargeFileOperation,
    ): TransferToken {
      const key =
        deployKey === undefined
          ? { of: "account" as const, id: Number(keyId) }
          : { of: "repository" as const, id: Number(deployKey.id) };
      const expiresAt = clock() + LIFETIME_SECONDS * 1000;
      const grant: Grant = { key, operation, expiresAt };
      const token = PREFIX + sealer.seal(PURPOSE, JSON.stringify(grant), toIdentity(repository.id));
      return { token, expiresInSeconds: LIFETIME_SECONDS, expiresAt };
    },

    /** Returns the caller of a token for the repository at a path; undefined when it is not valid, or no longer. */
    async find(token: string, path: RepositoryPath): Promise<ForgeCaller | undefined> {
      const owned = await findOwned(db, path);
      const grant = owned && open(token, owned.repository.id);
      if (owned === undefined || grant === undefined || grant.expiresAt <= clock())
        return undefined;
      const caller = await findCaller(grant, owned);
      return caller && (await isStillSignedIn(db, caller)) ? caller : undefined;
    },
  };

  function open(token: string, repositoryId: RepositoryId): Grant | undefined {
    try {
      const sealed = token.slice(PREFIX.length);
      const text = sealer.openText(PURPOSE, sealed, toIdentity(repositoryId));
      return grantSchema.parse(JSON.parse(text));
    } catch (error) {
      if (error instanceof SealError) return undefined;
      throw error;
    }
  }

  async function findCaller(
    { key, operation }: Grant,
    { repository, owner }: OwnedRepository,
  ): Promise<ForgeCaller | undefined> {
    const scope = operation === "upload" ? "write:repository" : "read:repository";
    if (key.of === "account") {
      const keyId = key.id as KeyId;
      const found = await findPublicKey(db, keyId);
      const user = found && (await findUserById(db, found.userId));
      return user && { user, actor: user, method: "ssh_key", keyId, scope };
    }
    const id = key.id as DeployKeyId;
    const found = await findDeployKey(db, repository.id, id);
    if (found === undefined) return undefined;
    const access = found.isReadOnly ? "read" : "write";
    const user = { ...owner, deployKey: { id, repositoryId: repository.id, access } } as const;
    return { user, actor: user, method: "ssh_key", scope };
  }
}

/** Returns the token of a request for large files; undefined when it has other credentials or none. */
export function findTransferToken(authorization: string | undefined): string | undefined {
  const token = /^bearer (\S+)$/i.exec(authorization ?? "")?.[1];
  return token?.startsWith(PREFIX) ? token : undefined;
}

const toIdentity = (id: RepositoryId) => `forge_repositories/${id}`;
