import type { Transaction } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { toUserId } from "../../../storage/tables/forge/ids.ts";
import { reserveNumbers } from "../../../storage/tables/forge/issues/issues.ts";
import { insertImport } from "../../../storage/tables/forge/repositories/imports.ts";
import { insertMirror } from "../../../storage/tables/forge/repositories/mirrors.ts";
import {
  type ForgeRepository,
  updateRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { replaceTopics } from "../../../storage/tables/forge/repositories/topics.ts";
import { AppError } from "../../errors.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { GuardedRequest } from "../../outbound/guarded-request.ts";
import type { GitRemote } from "../../outbound/git-gateway.ts";
import { getVisibleAccount } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import { findAccess } from "../repositories/access.ts";
import { createRepository, type CreateRepositoryDeps } from "../repositories/create-repository.ts";
import { assertMayBePrivate, mayCreateIn } from "../repositories/repositories.service.ts";
import type { RepositoryDetails } from "../repositories/repository.view.ts";
import { toTopicNames } from "../repositories/topics.service.ts";
import { createTransferLimiter } from "../repositories/transfer-limiter.ts";
import { newProgress, type ImportPart } from "./import-parts.ts";
import { type MirrorIntervals, readMirrorInterval } from "../repositories/mirror-interval.ts";
import { importWiki } from "./import-wiki.ts";
import { openSource } from "./import-job.ts";
import { enqueueImport } from "./imports.service.ts";
import {
  type Credentials,
  type CredentialSeals,
  readRemoteAddress,
  toGitRemote,
} from "./remote-address.ts";
import { type Remotes, RemoteUnusable, type TakenRefs } from "./remotes.ts";
import { SourceAway, SourceBusy } from "./source.ts";
import type { SourceAbout } from "./source-schemas.ts";

/** A repository on another server, and what becomes of it here. Texts are empty when they are absent. */
export interface MigrateOptions {
  readonly address: string;
  readonly credentials: Credentials;
  /** The owner by name or by id; the caller when both are absent. */
  readonly owner: { readonly name: string; readonly id: number };
  readonly name: string;
  readonly description: string;
  readonly isPrivate: boolean;
  readonly service: string;
  readonly isMirror: boolean;
  readonly mirrorInterval: string;
  /** What is imported besides branches and tags; only from a service that has an API for it. */
  readonly parts: readonly ImportPart[];
  readonly hasWiki: boolean;
}

export interface MigrateDeps extends CreateRepositoryDeps {
  readonly git: Git;
  readonly remotes: Remotes;
  readonly seals: CredentialSeals;
  readonly enqueue: Enqueue;
  readonly intervals: MirrorIntervals;
  readonly request: GuardedRequest;
}

/** Maximum number of concurrent imports of code, in total and of one user; others wait. */
const limits = {
  atOnce: 8,
  perClient: 2,
  anonymous: 0,
  waiting: 32,
  waitingPerClient: 8,
} as const;

const NOTHING_LISTED = { newest: 0, about: { description: "", website: "", topics: [] } };

const SERVICES: ReadonlyMap<string, "git" | "gitea" | "github"> = new Map([
  ["", "git"],
  ["git", "git"],
  ["gitea", "gitea"],
  ["forgejo", "gitea"],
  ["github", "github"],
]);

/** The name of every pull mirror ends with the id of its repository. */
const toPullName = ({ id }: ForgeRepository) => `origin-${id}`;

/** Creates repositories from those on other servers. */
export function createMigrate(deps: MigrateDeps) {
  const { db, remotes, seals, enqueue, intervals } = deps;
  const limiter = createTransferLimiter(limits);

  /**
   * Imports branches and tags, and leaves issues and releases to a job. Nothing remains when it fails, when the client leaves
   * or when the daemon is killed: the repository exists once its files are complete. Refuses as `createRepository` does; with
   * `unprocessable` an address that is not permitted or does not serve git, credentials that the server refuses, and an
   * unknown service; with `forbidden` an owner for whom the caller may not create repositories.
   */
  return async (
    options: MigrateOptions,
    caller: ForgeCaller,
    signal: AbortSignal,
  ): Promise<RepositoryDetails> => {
    const service = SERVICES.get(options.service.toLowerCase());
    if (service === undefined)
      throw new AppError("unprocessable", "unknown service: give git, gitea, forgejo or github");
    const { address, credentials } = readRemoteAddress(options.address, options.credentials);
    const intervalSeconds = options.isMirror
      ? readMirrorInterval(options.mirrorInterval, intervals)
      : 0;
    const owner = await getOwner(options.owner, caller);
    const remote = toGitRemote(address, credentials);
    const release = await limiter.acquire({ caller, address: "" }, signal);
    try {
      return await copy(owner, { ...options, service, address, credentials, remote });
    } finally {
      release();
    }

    async function copy(
      { name: ownerName, id: ownerId }: ForgeUser,
      given: MigrateOptions & {
        readonly service: "git" | "gitea" | "github";
        readonly credentials: Credentials;
        readonly remote: GitRemote;
      },
    ): Promise<RepositoryDetails> {
      // A mirror has no issues of its own, as in Gitea, and plain git has no API for them.
      const parts = given.parts.filter(
        (part) => part === "large_files" || (!given.isMirror && given.service !== "git"),
      );
      const hasPulls = parts.includes("pulls");
      // Before the code, so that wrong credentials and a server of another kind are refused at once.
      const isListed = parts.some((part) => part !== "large_files");
      const { newest, about } = isListed ? await ask(given) : NOTHING_LISTED;
      const listed = await refusingRemote(() => remotes.list(given.remote, { hasPulls }, signal));
      const taken = { ...listed, refs: withoutLaterPulls(listed.refs, newest) };
      const made = await createRepository(
        deps,
        ownerName,
        toNewRepository({ ...given, description: given.description || about.description }, taken),
        caller.user,
        {
          admit: async (queries, current) => {
            if (current.id !== ownerId || !(await mayCreateFor(queries, current, caller)))
              throw notAllowed();
            assertMayBePrivate(given, current, caller);
          },
          async fill(directory) {
            await refusingRemote(async () => {
              await remotes.copy(given.remote, taken.refs, { directory, signal });
              if (given.hasWiki) await importWiki(deps, given.remote, directory, signal);
            });
            return [...taken.refs.keys()].filter((ref) => ref.startsWith("refs/heads/")).length;
          },
          async recorded(tx, repository) {
            await record(tx, repository, { ...given, parts, intervalSeconds });
            await updateRepository(tx, repository.id, { website: about.website });
            await replaceTopics(tx, repository.id, toTopicNames(about.topics));
            // What is opened here meanwhile does not take the number of an issue that is still to come.
            if (newest > 0) await reserveNumbers(tx, repository.id, newest);
          },
        },
      );
      const access = await findAccess(db, made, caller.user);
      return { ...made, watchers: 1, access, isSignedIn: true };
    }

    /** Returns the number of the newest issue or pull request of the source, and what the repository says of itself. */
    async function ask(given: {
      readonly service: "git" | "gitea" | "github";
      readonly address: string;
      readonly credentials: Credentials;
    }): Promise<{ readonly newest: number; readonly about: SourceAbout }> {
      const source = openSource(given, deps);
      return refusingRemote(async () => {
        try {
          const newest = await source.findNewest(signal);
          return { newest, about: await source.readAbout(signal) };
        } catch (error) {
          if (error instanceof SourceAway || error instanceof SourceBusy)
            throw new RemoteUnusable(error.message, error);
          throw error;
        }
      });
    }

    async function record(
      tx: Transaction,
      repository: ForgeRepository,
      given: {
        readonly address: string;
        readonly credentials: Credentials;
        readonly service: "git" | "gitea" | "github";
        readonly isMirror: boolean;
        readonly parts: readonly ImportPart[];
        readonly intervalSeconds: number;
      },
    ): Promise<void> {
      const { id: repositoryId } = repository;
      await updateRepository(tx, repositoryId, {
        originalUrl: given.address,
        isMirror: given.isMirror,
        ...(given.isMirror
          ? {
              mirrorIntervalSeconds: given.intervalSeconds,
              mirrorUpdatedAt: tx.now,
              mirrorSyncedAt: tx.now,
            }
          : {}),
      });
      if (given.isMirror)
        await insertMirror(
          tx,
          {
            repositoryId,
            actorId: caller.user.id,
            direction: "pull",
            name: toPullName(repository),
            address: given.address,
            intervalSeconds: given.intervalSeconds,
            syncOnCommit: false,
            nextAt: given.intervalSeconds === 0 ? undefined : tx.now + given.intervalSeconds * 1000,
            syncedAt: tx.now,
          },
          (id) => seals.sealOfMirror(id, given.credentials),
        );
      if (given.parts.length === 0) return;
      await insertImport(tx, {
        repositoryId,
        actorId: caller.user.id,
        service: given.service,
        address: given.address,
        sealedCredentials: seals.sealOfImport(repositoryId, given.credentials),
        parts: [...given.parts],
        progress: newProgress(given.parts),
      });
      await enqueueImport(enqueue, tx, { repositoryId, actorId: caller.user.id });
    }
  };

  async function getOwner(
    { name, id }: MigrateOptions["owner"],
    caller: ForgeCaller,
  ): Promise<ForgeUser> {
    if (name !== "") {
      const owner = await getVisibleAccount(db, name, caller);
      if (!(await mayCreateFor(db, owner, caller))) throw notAllowed();
      return owner;
    }
    const ownerId = id > 0 ? toUserId(id) : caller.user.id;
    const owner = await findUserById(db, ownerId);
    if (owner === undefined || !(await mayCreateFor(db, owner, caller))) throw notAllowed();
    return owner;
  }
}

/** Runs `work`, and refuses with `unprocessable` when the remote fails. */
async function refusingRemote<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RemoteUnusable)) throw error;
    throw new AppError("unprocessable", `Migration failed: ${error.message}.`, { cause: error });
  }
}

async function mayCreateFor(
  queries: Parameters<typeof mayCreateIn>[0],
  owner: ForgeUser,
  { user }: ForgeCaller,
): Promise<boolean> {
  if (owner.id === user.id || user.isAdmin) return true;
  return owner.kind === "organization" && (await mayCreateIn(queries, owner, user));
}

const notAllowed = () =>
  new AppError("forbidden", "Given user is not allowed to create repository for this owner.");

function toNewRepository(
  { name, description, isPrivate }: MigrateOptions,
  { head, refs, objectFormat }: TakenRefs,
) {
  return {
    name,
    description,
    isPrivate,
    isTemplate: false,
    issueLabels: "",
    autoInit: false,
    gitignores: "",
    license: "",
    readme: "",
    defaultBranch: head ?? chooseBranch(refs),
    trustModel: "",
    objectFormat,
  };
}

/** Leaves out heads of pull requests that would have the numbers of pull requests that are opened here. */
function withoutLaterPulls(
  refs: ReadonlyMap<string, string>,
  newest: number,
): ReadonlyMap<string, string> {
  const isLater = (ref: string) => Number(/^refs\/pull\/(\d+)\/head$/.exec(ref)?.[1] ?? 0) > newest;
  return new Map([...refs].filter(([ref]) => !isLater(ref)));
}

/** Of a remote whose HEAD names no branch. Empty for the usual name. */
function chooseBranch(refs: ReadonlyMap<string, string>): string {
  const branches = [...refs.keys()]
    .filter((ref) => ref.startsWith("refs/heads/"))
    .map((ref) => ref.slice("refs/heads/".length));
  return ["main", "master"].find((name) => branches.includes(name)) ?? branches[0] ?? "";
}
