// Clone, fetch and push over HTTP. Start here: the git processes. transfer-access.ts has the permissions, receive-pack.ts runs pushes,
// push-hook.ts lets git ask before refs move, push-journal.ts recovers pushes, push-commands.ts parses pkt-lines.
import type { Readable } from "node:stream";
import type { Database } from "../../../storage/engine/database.ts";
import type { Git, GitProcess } from "../../../storage/git/git.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";
import type { Log } from "../../utilities/logging.ts";
import type { RepositoryPath } from "../repositories/find-repository.ts";
import { pipeBody } from "./request-body.ts";
import type { PushRecorder } from "./record-push.ts";
import { FLUSH, toPktLine } from "./push-commands.ts";
import type { CheckPush } from "../repositories/protected-refs.ts";
import { createReceivePack, type PushRefusal } from "./receive-pack.ts";
import { hookConfig, type PrepareHook } from "./push-hook.ts";
import type { DescribePush } from "./push-notice.ts";
import type { PushJournal } from "./push-journal.ts";
import type { CheckRefs } from "./ref-check.ts";
import { createRunInFolder } from "./run-in-folder.ts";
import { type StreamLimiter, toWatched } from "../repositories/transfer-limiter.ts";
import type { ReviewPushes } from "./review-ref.ts";
import { needsCredentials, type TransferAccess, type TransferRequest } from "./transfer-access.ts";

/** The services of the smart protocol: `git-upload-pack` serves fetches, `git-receive-pack` serves pushes. */
export type GitService = "git-upload-pack" | "git-receive-pack";

/** One request of a git client. */
export interface GitRequest extends TransferRequest {
  /** Counts as one client; see `TransferLimits`. */
  readonly address: string;
  /** The `Git-Protocol` header. */
  readonly protocol: string | undefined;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** A request with a body. */
export interface GitTransfer extends GitRequest {
  readonly contentType: string | undefined;
  /** Whether the client waits for git before it ends the body, as over SSH. */
  readonly isConversation?: boolean;
  readonly contentEncoding: string | undefined;
  readonly body: Readable;
}

/** A request over a connection that stays open in both directions, as SSH is. */
export type GitConversation = Omit<GitTransfer, "contentType">;

/** The output of a git that talks to the client itself. */
export interface GitConversationAnswer {
  readonly stream: Readable;
  /** Resolves with git's exit status. */
  exitCode(): Promise<number>;
}

/** A streamed response. */
export interface GitAnswer {
  readonly contentType: string;
  readonly stream: Readable;
  /** Stops git when the client has disconnected. */
  giveUp(): void;
}

export type SmartHttp = ReturnType<typeof createSmartHttp>;

export interface SmartHttpDeps extends PushRecorder {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly access: TransferAccess;
  /** Ends the name of a repository in addresses: `.git` or `.wiki.git`. */
  readonly ending: string;
  readonly limiter: StreamLimiter;
  readonly journal: Pick<PushJournal, "begin">;
  /** Evaluates the protection of branches before the objects of a push arrive. */
  readonly checkPush: CheckPush;
  /** Evaluates it again, with the objects, before git moves the refs. */
  readonly checkRefs: CheckRefs;
  readonly prepareHook: PrepareHook;
  readonly describePush: DescribePush;
  readonly reviewPushes: ReviewPushes;
  readonly log: Log;
  /** Largest push, in bytes. */
  readonly pushBytesMax: number;
}

/** The limits of all transfers. */
export const transferLimits = {
  /** Git processes that work at the same time, and the length of the queue. */
  work: { atOnce: 32, perClient: 12, anonymous: 20, waiting: 128, waitingPerClient: 64 },
  /** Open clones and fetches, some of which wait for their clients. */
  open: { atOnce: 64, perClient: 12, anonymous: 44, waiting: 128, waitingPerClient: 64 },
} as const;

const limits = {
  /** Maximum duration of a transfer; the idle timeout of the connection closes a stalled client much earlier. */
  transferMs: 6 * 3_600_000,
  /**
   * Maximum bytes of a fetch request, which lists the objects that the client wants and has: half a million of them.
   */
  fetchBytes: 32 * 1024 * 1024,
  advertisementBytes: 64 * 1024 * 1024,
} as const;

/**
 * The server side of git's smart protocol over HTTP. Every function refuses with `unauthenticated` an anonymous caller
 * who might get access with credentials, with `not_found` a repository that the caller may not read, with `forbidden` a
 * transfer that the permission or the scope of the token does not allow, with `invalid_argument` an unknown service,
 * content type or content encoding, and with `unavailable` when too many transfers run.
 */
export function createSmartHttp(deps: SmartHttpDeps) {
  const { git, access, ending, limiter, log, prepareHook, pushBytesMax } = deps;
  const runInFolder = createRunInFolder(deps);
  const pushes = createReceivePack({ ...deps, runInFolder });

  return {
    /** Returns the refs of a repository and the capabilities of the server. */
    async advertise(
      request: GitRequest,
      service: string,
    ): Promise<{ readonly contentType: string; readonly body: Buffer }> {
      if (!isGitService(service))
        throw new AppError(
          "invalid_argument",
          "unknown service: only git's smart protocol is served",
        );
      const level = service === "git-upload-pack" ? "read" : "propose";
      const { repository } = await access.open(request, level, toRefsAddress(ending, service));
      const release = await limiter.acquire(request, request.signal);
      try {
        const body = await runInFolder(repository, (directory) =>
          git.run([...toCommand(service), "--advertise-refs", "."], {
            directory,
            env: toProtocol(request),
            outputBytesMax: limits.advertisementBytes,
          }),
        );
        // Version 2 does not have this line (protocol-v2, HTTP transport).
        const isVersion2 = body.toString("latin1", 0, 14).endsWith("version 2\n");
        const head = isVersion2 ? "" : toPktLine(`# service=${service}\n`) + FLUSH;
        return {
          contentType: `application/x-${service}-advertisement`,
          body: Buffer.concat([Buffer.from(head), body]),
        };
      } finally {
        release();
      }
    },

    /** A fetch or clone. */
    async fetch(transfer: GitTransfer): Promise<GitAnswer> {
      const service = "git-upload-pack";
      assertBody(transfer, service);
      const child = await startReading(transfer, toCommand(service));
      const giveUp = () => {
        if (!child.stdout.readableEnded) child.stop();
      };
      return { contentType: toResultType(service), stream: child.stdout, giveUp };
    },

    /** A fetch or clone over a connection that stays open. */
    serveFetch: (transfer: GitConversation): Promise<GitConversationAnswer> =>
      converse(transfer, ["upload-pack", "--strict"]),
    /** The archive of a tree over a connection that stays open. */
    serveArchive: (transfer: GitConversation): Promise<GitConversationAnswer> =>
      converse(transfer, ["upload-archive"]),

    /** A push. Once its body has arrived whole, it is carried out even if the client disconnects. */
    async push(transfer: GitTransfer): Promise<GitAnswer> {
      const service = "git-receive-pack";
      assertBody(transfer, service);
      const owned = await access.open(transfer, "propose");
      const { caller } = transfer;
      if (caller === undefined) throw needsCredentials();
      const pusher = caller.user;
      const slot = await limiter.acquireStream(transfer, transfer.signal);
      try {
        const hooks = await prepareHook();
        const child = await runInFolder(owned.repository, (directory) =>
          git.start([...toCommand(service), "."], {
            directory,
            env: toProtocol(transfer),
            config: {
              "receive.maxInputSize": String(pushBytesMax),
              "core.hooksPath": hooks,
              ...hookConfig,
            },
            hasHookSocket: true,
          }),
        );
        slot.watch(toWatched(child, transfer));
        const timer = setTimeout(child.stop, limits.transferMs);
        const findRefusal: PushRefusal = (level, changes) =>
          access.findPushRefusal(owned.repository.id, caller, level, changes);
        const stream = pushes.run(child, transfer, { ...owned, pusher, caller, findRefusal });
        child.ended
          .then(() => {
            clearTimeout(timer);
            slot.release();
          })
          .catch((error: unknown) => stream.destroy(error as Error));
        return { contentType: toResultType(service), stream, giveUp: () => stream.destroy() };
      } catch (error) {
        slot.release();
        throw error;
      }
    },
  };

  async function converse(
    transfer: GitConversation,
    command: readonly string[],
  ): Promise<GitConversationAnswer> {
    const child = await startReading(transfer, command, toRefsAddress(ending, "git-upload-pack"));
    return {
      stream: child.stdout,
      exitCode: async () => (await child.ended).exitCode ?? 1,
    };
  }

  /** Starts a git process that reads a repository and gets the bytes of the client as its input. */
  async function startReading(
    transfer: GitConversation,
    command: readonly string[],
    toAddress?: ToAddress,
  ): Promise<GitProcess> {
    const { repository } = await access.open(transfer, "read", toAddress);
    const slot = await limiter.acquireStream(transfer, transfer.signal);
    try {
      const child = await runInFolder(repository, (directory) =>
        git.start([...command, "."], { directory, env: toProtocol(transfer) }),
      );
      slot.watch(toWatched(child, transfer));
      const timer = setTimeout(child.stop, limits.transferMs);
      transfer.signal.addEventListener("abort", child.stop, { once: true });
      if (transfer.signal.aborted) child.stop();
      pipeBody(transfer, child, { bytesMax: limits.fetchBytes });
      child.ended
        .then(({ exitCode, stderr }) => {
          clearTimeout(timer);
          slot.release();
          if (exitCode !== 0 && !transfer.signal.aborted)
            log.debug(
              { repository_id: repository.id, exit_code: exitCode, stderr },
              "fetch failed",
            );
        })
        .catch((error: unknown) => log.error({ err: error }, "failed to end a fetch"));
      return child;
    } catch (error) {
      slot.release();
      throw error;
    }
  }
}

type ToAddress = (current: RepositoryPath) => string;

/**
 * Returns the redirect of a former name. Git follows a redirect of its first request only, so a rename before the second one
 * would end the transfer: there, the former name is followed.
 */
function toRefsAddress(ending: string, service: GitService): ToAddress {
  return ({ owner, repo }) => `/${owner}/${repo}${ending}/info/refs?service=${service}`;
}

function isGitService(word: string): word is GitService {
  return word === "git-upload-pack" || word === "git-receive-pack";
}

function toCommand(service: GitService): string[] {
  return service === "git-upload-pack"
    ? ["upload-pack", "--strict", "--stateless-rpc"]
    : ["receive-pack", "--stateless-rpc"];
}

const toResultType = (service: GitService) => `application/x-${service}-result`;

/** Passes on the protocol version of the client if it is well-formed. */
function toProtocol({ protocol }: GitRequest): Record<string, string> {
  return protocol !== undefined && /^[a-z0-9=:._-]{1,128}$/.test(protocol)
    ? { GIT_PROTOCOL: protocol }
    : {};
}

function assertBody({ contentType, contentEncoding }: GitTransfer, service: GitService): void {
  if (contentType !== `application/x-${service}-request`)
    throw new AppError("invalid_argument", "Unsupported Content-Type");
  if (!["", "identity", "gzip", "x-gzip"].includes(contentEncoding ?? ""))
    throw new AppError("invalid_argument", "Unsupported Content-Encoding");
}
