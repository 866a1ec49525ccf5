import { z } from "zod";
import type { Database } from "../../../storage/engine/database.ts";
import { type Sealer, SealError } from "../../../storage/keys/keyring.ts";
import { findPublicKey } from "../../../storage/tables/forge/accounts/keys.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import type { DeployKeyId, KeyId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { findDeployKey } from "../../../storage/tables/forge/repositories/deploy-keys.ts";
import { isStillSignedIn } from "../accounts/authentication.ts";
import { findOriginCaller, originSchema, type SignIn, toOrigin } from "../accounts/origins.ts";
import type { ForgeCaller } from "../caller.ts";
import { findOwned, type RepositoryPath } from "../repositories/find-repository.ts";
import { createLruCache } from "../../utilities/lru-cache.ts";
import type { OwnedRepository } from "../events.ts";

const PURPOSE = "large_files";
/** Tells these tokens from other credentials. */
const PREFIX = "croft-lfs-";
/** A client over SSH asks for another token when its own has expired. */
const SESSION_SECONDS = 3_600;
/** A client sends its batch again when the tokens of its files have expired. A transfer that has begun goes on. */
const BATCH_SECONDS = 15 * 60;
/** How many opened tokens are kept, about 500 bytes each. */
const OPENED_MAX = 1_000;

const keySchema = z.discriminatedUnion("of", [
  z.object({ of: z.literal("account_key"), id: z.int() }),
  z.object({ of: z.literal("deploy_key"), id: z.int() }),
]);

const grantSchema = z.object({
  by: z.union([keySchema, originSchema]),
  operation: z.enum(["upload", "download"]),
  /** `files`: transfers of files alone, as a batch response names them. `session`: everything that Git LFS does. */
  reach: z.enum(["files", "session"]),
  expiresAt: z.int(),
});
type Grant = z.infer<typeof grantSchema>;
type KeyGrant = z.infer<typeof keySchema>;

export type LargeFileOperation = Grant["operation"];

export interface TransferToken {
  readonly token: string;
  readonly expiresInSeconds: number;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** A caller with a token, and what the token is for. */
export interface TransferCaller extends ForgeCaller {
  readonly transfer?: Pick<Grant, "operation" | "reach">;
}

export type TransferTokens = ReturnType<typeof createTransferTokens>;

/**
 * Tokens that let a client transfer the large files of one repository over HTTP: for an hour after it has signed in with an
 * SSH key, and for 15 minutes with the files of a batch, so that a password is not verified for each file. They are sealed,
 * not stored. A token ends with the credentials that it was made with.
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
  // A client sends the token of a batch with each of its files, twice. Opening one takes a tenth of the time of such a request.
  const opened = createLruCache<Grant>({ valueLengthMax: 1, lengthMax: OPENED_MAX });
  return {
    /** Returns a token for a caller who has signed in with an SSH key. */
    issueSession(
      caller: ForgeCaller,
      { repository }: OwnedRepository,
      operation: LargeFileOperation,
    ): TransferToken {
      return issue(repository.id, SESSION_SECONDS, {
        by: toKey(caller),
        operation,
        reach: "session",
      });
    },

    /**
     * Returns a token for the files of a batch. Returns undefined for a caller whose credentials no token can be made of
     * (`toOrigin`).
     */
    issueForFiles(
      caller: ForgeCaller,
      authorization: string | undefined,
      { id }: { readonly id: RepositoryId },
      operation: LargeFileOperation,
    ): TransferToken | undefined {
      const by = caller.method === "ssh_key" ? toKey(caller) : toOrigin(caller, authorization);
      return by && issue(id, BATCH_SECONDS, { by, operation, reach: "files" });
    },

    /**
     * Returns the caller of a token for the repository at a path; undefined when it is not valid, or no longer. `signIn` may
     * refuse the access token that it was made with.
     */
    async find(
      token: string,
      path: RepositoryPath,
      signIn: SignIn,
    ): Promise<TransferCaller | undefined> {
      const owned = await findOwned(db, path);
      const grant = owned && open(token, owned.repository.id);
      if (owned === undefined || grant === undefined || grant.expiresAt <= clock())
        return undefined;
      const { by, operation, reach } = grant;
      const caller =
        by.of === "account_key" || by.of === "deploy_key"
          ? await findKeyCaller(by, owned, operation)
          : await findOriginCaller(db, by, signIn);
      return caller && { ...caller, transfer: { operation, reach } };
    },
  };

  function issue(
    id: RepositoryId,
    expiresInSeconds: number,
    grant: Omit<Grant, "expiresAt">,
  ): TransferToken {
    const expiresAt = clock() + expiresInSeconds * 1000;
    const text = JSON.stringify({ ...grant, expiresAt });
    const token = PREFIX + sealer.seal(PURPOSE, text, toIdentity(id));
    return { token, expiresInSeconds, expiresAt };
  }

  /** Returns what a token was issued for, also when its time is over. */
  function open(token: string, id: RepositoryId): Grant | undefined {
    const key = `${id} ${token}`;
    const known = opened.get(key);
    if (known !== undefined) return known;
    const grant = unseal(token, id);
    if (grant !== undefined) opened.set(key, grant, 1);
    return grant;
  }

  function unseal(token: string, id: RepositoryId): Grant | undefined {
    try {
      const sealed = token.slice(PREFIX.length);
      const text = sealer.openText(PURPOSE, sealed, toIdentity(id));
      // A token of an earlier version may have another form.
      return grantSchema.safeParse(JSON.parse(text)).data;
    } catch (error) {
      if (error instanceof SealError) return undefined;
      throw error;
    }
  }

  async function findKeyCaller(
    key: KeyGrant,
    owned: OwnedRepository,
    operation: LargeFileOperation,
  ): Promise<ForgeCaller | undefined> {
    const caller = await findKeyOwner(key, owned);
    if (caller === undefined || !(await isStillSignedIn(db, caller))) return undefined;
    return { ...caller, scope: operation === "upload" ? "write:repository" : "read:repository" };
  }

  async function findKeyOwner(
    key: KeyGrant,
    { repository, owner }: OwnedRepository,
  ): Promise<ForgeCaller | undefined> {
    if (key.of === "account_key") {
      const keyId = key.id as KeyId;
      const found = await findPublicKey(db, keyId);
      const user = found && (await findUserById(db, found.userId));
      return user && { user, actor: user, method: "ssh_key", keyId, scope: undefined };
    }
    const id = key.id as DeployKeyId;
    const found = await findDeployKey(db, repository.id, id);
    if (found === undefined) return undefined;
    const access = found.isReadOnly ? "read" : "write";
    const user = { ...owner, deployKey: { id, repositoryId: repository.id, access } } as const;
    return { user, actor: user, method: "ssh_key", scope: undefined };
  }
}

const toKey = ({ keyId, user: { deployKey } }: ForgeCaller): KeyGrant =>
  deployKey === undefined
    ? { of: "account_key", id: Number(keyId) }
    : { of: "deploy_key", id: Number(deployKey.id) };

/** Returns the token of a request for large files; undefined when it has other credentials or none. */
export function findTransferToken(authorization: string | undefined): string | undefined {
  const token = /^bearer (\S+)$/i.exec(authorization ?? "")?.[1];
  return token?.startsWith(PREFIX) ? token : undefined;
}

const toIdentity = (id: RepositoryId) => `forge_repositories/${id}`;
