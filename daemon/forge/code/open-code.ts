import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ServerRequest } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";
import type { StreamLimiter, StreamSlot } from "../repositories/transfer-limiter.ts";
import type { GrantedRepository, OpenedRepository } from "../opened.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { mayEditHead } from "../repositories/maintainer-edit.ts";
import { reaches } from "../repositories/access.ts";
import { refusing } from "../repositories/git-refusals.ts";
import { noWriter } from "../repositories/access.ts";

/** The client of a request for git objects. */
export interface CodeClient {
  readonly caller: ForgeCaller | undefined;
  /** Identifies the client when the caller is anonymous. */
  readonly address: string;
  /** Aborted when the client disconnects, which stops git. */
  readonly signal: AbortSignal;
}

/** A request for git objects of a repository that the operation has opened. */
export interface CodeRequest extends CodeClient {
  readonly opened: GrantedRepository;
}

/** Returns the request of a service for the input of a route. */
export function toCodeRequest<Caller extends ForgeCaller | undefined>({
  opened,
  caller,
  request: { address, signal },
}: {
  readonly opened: GrantedRepository;
  readonly caller: Caller;
  readonly request: ServerRequest;
}) {
  return { opened, caller, address, signal };
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

/** Runs git on repositories, within the limit on its processes. */
export function createCodeAccess({ db, git, locate, limiter }: CodeDeps) {
  return {
    /** Runs `work` on the repository. Refuses with `unavailable` when too many run. */
    read: <T>(request: CodeRequest, work: (code: OpenedCode) => Promise<T>): Promise<T> =>
      within(request.opened, request, work),

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
      await assertMayWrite(request.opened, request, toBranch);
      const release = await limiter.acquire(request, request.signal);
      try {
        // The right may have ended while the request waited.
        const opened = await reopenRepository(db, request.opened);
        await assertMayWrite(opened, request, toBranch);
        const code = await locateCode(opened, request);
        return await refusing(() => work(code));
      } finally {
        release();
      }
    },

    within,

    /** Opens the repository for a stream: the caller releases the slot when git has ended. */
    open: (request: CodeRequest): Promise<StreamedCode> => streamWithin(request.opened, request),

    streamWithin,
  };

  /** Runs `work` on a repository that the operation has opened, as `read` does. */
  async function within<T>(
    owned: OpenedRepository,
    client: CodeClient,
    work: (code: OpenedCode) => Promise<T>,
  ): Promise<T> {
    const release = await limiter.acquire(client, client.signal);
    try {
      const opened = await locateCode(owned, client);
      return await refusing(() => work(opened));
    } finally {
      release();
    }
  }

  /** Opens a repository that the operation has opened for a stream, as `open` does. */
  async function streamWithin(owned: OpenedRepository, client: CodeClient): Promise<StreamedCode> {
    const slot = await limiter.acquireStream(client, client.signal);
    try {
      return { ...(await locateCode(owned, client)), slot };
    } catch (error) {
      slot.release();
      throw error;
    }
  }

  async function assertMayWrite(
    { access, repository }: OpenedRepository,
    { caller }: CodeClient,
    toBranch: ((repository: ForgeRepository) => string) | undefined,
  ): Promise<void> {
    if (reaches(access, "write")) return;
    const branch = toBranch?.(repository);
    if (branch === undefined || !(await mayEditHead(db, caller?.user, repository, branch)))
      throw noWriter();
  }

  async function locateCode(
    owned: OpenedRepository,
    { caller, signal }: Pick<CodeClient, "caller" | "signal">,
  ): Promise<OpenedCode> {
    return { owned, caller, git, directory: await locate(owned.repository), signal };
  }
}
