import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { StreamLimiter, StreamSlot } from "../repositories/transfer-limiter.ts";
import { assertNotArchived, openRepository } from "../repositories/open-repository.ts";
import { type OpenedRepository } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { mayEditHead } from "../repositories/maintainer-edit.ts";
import { reaches } from "../repositories/access.ts";
import { refusing } from "../repositories/git-refusals.ts";
import type { RepositoryPath } from "../repositories/repositories.service.ts";
import { keepsCode } from "../repositories/repository-settings.view.ts";

/** A request for git objects of a repository. */
export interface CodeRequest {
  readonly path: RepositoryPath;
  readonly caller: ForgeCaller | undefined;
  /** The rest of the address below the repository, for the redirect from a former name. */
  readonly rest: string;
  /** Identifies the client when the caller is anonymous. */
  readonly address: string;
  /** Aborted when the client disconnects, which stops git. */
  readonly signal: AbortSignal;
}

/** A repository that the request may read. */
export interface OpenedCode {
  readonly owned: OpenedRepository;
  readonly caller: ForgeCaller | undefined;
  readonly git: Git;
  readonly directory: string;
  readonly signal: AbortSignal;
}

export interface CodeDeps {
  readonly db: Database;
  readonly git: Git;
  /** Returns the folder of a repository's files. Refuses with `not_found` when they are missing. */
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  /** Bounds the git processes of all requests, and of one client. */
  readonly limiter: StreamLimiter;
}

export type CodeAccess = ReturnType<typeof createCodeAccess>;

/** A repository whose content is streamed. */
export interface StreamedCode extends OpenedCode {
  readonly slot: StreamSlot;
}

/** Opens repositories for reading their code. */
export function createCodeAccess({ db, git, locate, limiter }: CodeDeps) {
  return {
    /**
     * Runs `work` on a repository that the caller may read, within the limit on git processes. Refuses with `not_found` a
     * repository that the caller may not read or whose code is turned off, and with `unavailable` when too many run.
     */
    async read<T>(request: CodeRequest, work: (code: OpenedCode) => Promise<T>): Promise<T> {
      const owned = await findCode(request);
      const release = await limiter.acquire(request, request.signal);
      try {
        const opened = await locateCode(owned, request);
        return await refusing(() => work(opened));
      } finally {
        release();
      }
    },

    /**
     * Runs `work` for a caller who may push; refuses with `forbidden` without that right, with `archived` an archived
     * repository.
     * @param toBranch returns the only branch that `work` changes, which may be the head of a pull request that the caller
     * may edit
     */
    async write<T>(
      request: CodeRequest,
      work: (code: OpenedCode) => Promise<T>,
      toBranch?: (repository: ForgeRepository) => string,
    ): Promise<T> {
      await findWritable(request, toBranch);
      const release = await limiter.acquire(request, request.signal);
      try {
        // The right may have ended while the request waited.
        const opened = await locateCode(await findWritable(request, toBranch), request);
        return await refusing(() => work(opened));
      } finally {
        release();
      }
    },

    /** Runs `work` on a repository that the operation has opened, within the limit on git processes. */
    async within<T>(
      owned: OpenedRepository,
      request: Pick<CodeRequest, "caller" | "address" | "signal">,
      work: (code: OpenedCode) => Promise<T>,
    ): Promise<T> {
      const release = await limiter.acquire(request, request.signal);
      try {
        const opened = await locateCode(owned, request);
        return await refusing(() => work(opened));
      } finally {
        release();
      }
    },

    /** Opens a repository for a stream: the caller releases the slot when git has ended. */
    async open(request: CodeRequest): Promise<StreamedCode> {
      return streamWithin(await findCode(request), request);
    },

    streamWithin,
  };

  /** Opens a repository that the operation has opened for a stream, as `open` does. */
  async function streamWithin(
    owned: OpenedRepository,
    request: Pick<CodeRequest, "caller" | "address" | "signal">,
  ): Promise<StreamedCode> {
    const slot = await limiter.acquireStream(request, request.signal);
    try {
      return { ...(await locateCode(owned, request)), slot };
    } catch (error) {
      slot.release();
      throw error;
    }
  }

  async function findWritable(
    request: CodeRequest,
    toBranch: ((repository: ForgeRepository) => string) | undefined,
  ): Promise<OpenedRepository> {
    const owned = await findCode(request);
    const mayWrite =
      reaches(owned.access, "write") ||
      (toBranch !== undefined &&
        (await mayEditHead(
          db,
          request.caller?.user,
          owned.repository,
          toBranch(owned.repository),
        )));
    if (!mayWrite)
      throw new AppError("forbidden", "user should have a permission to write to a repo");
    assertNotArchived(owned);
    return owned;
  }

  async function findCode({ path, caller, rest }: CodeRequest): Promise<OpenedRepository> {
    const owned = await openRepository(db, path, caller, rest);
    if (!keepsCode(owned.repository.settings)) throw notFound();
    return owned;
  }

  async function locateCode(
    owned: OpenedRepository,
    { caller, signal }: Pick<CodeRequest, "caller" | "signal">,
  ): Promise<OpenedCode> {
    return { owned, caller, git, directory: await locate(owned.repository), signal };
  }
}
