import { PassThrough, type Readable } from "node:stream";
import type { Git, GitProcess } from "../../../storage/git/git.ts";
import { readRefs } from "../../../storage/git/refs.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import { AppError, type ErrorCode } from "../../errors.ts";
import { toRefusal as toKnownRefusal } from "../../http/replies.ts";
import type { Log } from "../../utilities/logging.ts";
import type { ActingUser, ForgeCaller } from "../caller.ts";
import type { OwnedRepository, RefChange } from "../events.ts";
import type { CheckPush } from "../repositories/protected-refs.ts";
import { pipeBody } from "./request-body.ts";
import type { ObservedRefs, PushOptions, PushRecorder } from "./record-push.ts";
import {
  createCommandsReader,
  type PushCommand,
  type PushCommands,
  readReport,
  toFatalMessage,
  toRefusal,
  toRemoteMessage,
} from "./push-commands.ts";
import { answerHook, type HookRequest, type PushJudge, UNCHECKED } from "./push-hook.ts";
import type { PushJournal, PushNote } from "./push-journal.ts";
import { createPacketInserter, type DescribePush } from "./push-notice.ts";
import type { CheckRefs } from "./ref-check.ts";
import {
  isReviewRef,
  type ReviewedRef,
  type ReviewPush,
  type ReviewPushes,
  toReviewTarget,
} from "./review-ref.ts";
import type { RunInFolder } from "./run-in-folder.ts";

export interface ReceivePackDeps extends PushRecorder {
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly journal: Pick<PushJournal, "begin">;
  /** Evaluates the rules before the objects arrive. */
  readonly checkPush: CheckPush;
  /** Evaluates them again, with the objects, before git moves the refs. */
  readonly checkRefs: CheckRefs;
  /** Returns what an accepted push leaves out, which its client is told. */
  readonly describePush: DescribePush;
  /** Carries out pushes to `refs/for/`. */
  readonly reviewPushes: ReviewPushes;
  readonly log: Log;
  readonly pushBytesMax: number;
}

/** A push whose refs git may move. */
interface AcceptedPush {
  readonly request: HookRequest;
  readonly note: PushNote;
  readonly observed: Promise<ObservedRefs | undefined>;
}

/**
 * Returns why the pusher may not, or no longer, push. Called when the commands have arrived, and again before git moves the
 * refs: both may be long after the connection began.
 */
export type PushRefusal = (
  level: "write" | "propose",
  changes: readonly RefChange[],
) => Promise<string | undefined>;

interface PushBody {
  readonly body: Readable;
  readonly contentEncoding: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Longest list of commands. A push with a longer one is refused, because it could not be checked before git moves refs.
 */
const COMMANDS_BYTES_MAX = 16 * 1024 * 1024;
const REPORT_BYTES_MAX = 16 * 1024 * 1024;
/** `receive.maxInputSize` limits the pack alone and reports that to the client; this limits the whole body. */
const ALLOWANCE_BYTES = COMMANDS_BYTES_MAX;

/** Runs pushes and records the refs that they moved. */
export function createReceivePack(deps: ReceivePackDeps) {
  const {
    git,
    runInFolder,
    journal,
    recordPush,
    observeRefs,
    checkPush,
    checkRefs,
    describePush,
    reviewPushes,
    log,
    pushBytesMax,
  } = deps;
  return {
    /**
     * Pipes a push into `git receive-pack` and returns its response, which ends after the push was recorded. The list of
     * refs is checked twice: as the client sends it, before git receives any byte and the client sends its objects; and as
     * git has it, when git's first hook asks with the objects, which git drops when the push is refused. Git moves refs
     * only after the second check and the journal entry, so every moved ref is allowed and gets published.
     */
    run(
      child: GitProcess,
      { body, contentEncoding, signal }: PushBody,
      owned: OwnedRepository & {
        readonly pusher: ActingUser;
        readonly caller: ForgeCaller;
        readonly findRefusal: PushRefusal;
      },
    ): Readable {
      const { repository, owner, pusher, caller } = owned;
      let clientOptions: readonly string[] = [];
      let reviewed: ReviewedRef | undefined;
      const list = createCommandsReader(COMMANDS_BYTES_MAX);
      let accepted: AcceptedPush | undefined;
      const response = new PassThrough();
      const packets = createPacketInserter();
      const isWhole = pipeBody({ body, contentEncoding }, child, {
        bytesMax: pushBytesMax + ALLOWANCE_BYTES,
        admit(chunk) {
          const push = list.read(chunk);
          if (push === undefined) return undefined;
          if (!("kind" in push)) return admit(push);
          // Git may accept commands that cannot be read here.
          response.write(toFatalMessage(list.capabilities(), push.reason));
          return Promise.reject(new Error("the push has an invalid list of refs"));
        },
      });
      /** Rejects when the push is refused, after reporting the reason to the client. */
      async function admit(push: PushCommands): Promise<void> {
        if (push.commands.length === 0) return;
        clientOptions = push.options;
        const reason = await orUnchecked(() => findReason(push));
        if (reason === undefined) return;
        response.write(toRefusal(push, reason));
        throw new Error("the push is refused");
      }
      async function findReason({ commands }: PushCommands): Promise<string | undefined> {
        const refusal = await findRefusal(commands);
        if (refusal !== undefined || toReview(commands, []) !== undefined) return refusal;
        const { refused } = await checkPush(repository, pusher, toChanges(commands));
        return refused?.gitReason;
      }
      async function findRefusal(commands: readonly PushCommand[]): Promise<string | undefined> {
        const isReview = commands.some(({ ref }) => isReviewRef(ref));
        const refusal = await owned.findRefusal(
          isReview ? "propose" : "write",
          toChanges(commands),
        );
        if (refusal !== undefined) return refusal;
        if (isReview && commands.length > 1)
          return "push one ref to refs/for/ at a time, and no other ref with it";
        if (commands.some(({ ref }) => ref.startsWith("refs/pull/")))
          return "refs/pull/ follows the branches of pull requests and cannot be pushed to";
        return undefined;
      }
      function toReview(
        commands: readonly PushCommand[],
        options: readonly string[],
      ): ReviewPush | undefined {
        const [command] = commands;
        if (command === undefined || !isReviewRef(command.ref)) return undefined;
        const target = toReviewTarget(command.ref);
        return { repository, owner, caller, target, commit: toId(command.after), options };
      }
      /** The commands that were judged; none while the push is not allowed. */
      let judged: ReadonlySet<string> = new Set();
      const judge: PushJudge = {
        async judge({ commands, quarantine }) {
          const reason = await orUnchecked(() => findRefusedReason(commands, quarantine));
          if (reason === undefined) judged = new Set(commands.map(toKey));
          else {
            // In place of git's report, which would only name the hook.
            const report = toRefusal({ commands, capabilities: list.capabilities() }, reason);
            packets.replaceRest(report);
          }
          return reason;
        },
        accept: (request) => orUnchecked(() => accept(request)),
        report: () => (reviewed === undefined ? ["fall-through"] : toReport(reviewed)),
      };
      async function accept(request: HookRequest): Promise<string | undefined> {
        if (!request.commands.every((command) => judged.has(toKey(command)))) return UNCHECKED;
        const review = toReview(request.commands, request.options);
        if (review !== undefined) return receive(review);
        const changes = toChanges(request.commands);
        tell(describePush(changes, { repository, owner }));
        const note = await journal.begin(repository, pusher.id, changes);
        // Git has taken the objects in, and moves the refs when it has the answer.
        accepted = { request, note, observed: observeRefs(repository) };
        return undefined;
      }
      function tell(notice: string | undefined): void {
        if (notice !== undefined && list.capabilities().has("side-band-64k"))
          packets.insert(toRemoteMessage(notice));
      }
      /** Opens or updates a pull request. Git moves no ref. */
      async function receive(review: ReviewPush): Promise<string | undefined> {
        try {
          reviewed = await reviewPushes.receive(review);
          tell(reviewed.notice);
          return undefined;
        } catch (error) {
          if (error instanceof AppError && !PASSING.has(error.code)) return error.message;
          throw error;
        }
      }
      async function findRefusedReason(
        commands: readonly PushCommand[],
        quarantine: string | undefined,
      ): Promise<string | undefined> {
        const refusal = await findRefusal(commands);
        if (refusal !== undefined) return refusal;
        const review = toReview(commands, clientOptions);
        if (review !== undefined) return reviewPushes.findRefusal(review, quarantine);
        const refused = await checkRefs(repository, pusher, toChanges(commands), {
          quarantine,
        });
        return refused?.gitReason;
      }
      /** Returns a reason also when the push could not be checked: a client that only loses its connection learns nothing. */
      async function orUnchecked(
        check: () => Promise<string | undefined>,
      ): Promise<string | undefined> {
        try {
          return await check();
        } catch (error) {
          const passing = toPassingReason(error);
          if (passing === undefined) logFailure(error);
          return passing ?? UNCHECKED;
        }
      }
      const logFailure = (error: unknown) =>
        log.error({ err: error, repository_id: repository.id }, "failed to check a push");
      const answered = child.hookSocket && answerHook(child.hookSocket, judge, logFailure);
      // A push that has arrived completely is carried out, because git may have moved refs already.
      const stopUnlessWhole = () => {
        if (!isWhole()) child.stop();
      };
      signal.addEventListener("abort", stopUnlessWhole, { once: true });

      const report = createCollector(REPORT_BYTES_MAX);
      child.stdout.on("data", (chunk: Buffer) => {
        report.add(chunk);
        const packet = packets.pass(chunk);
        if (response.writable && !response.write(packet)) child.stdout.pause();
      });
      response.on("drain", () => child.stdout.resume());
      // A client that disconnects must not block git.
      response.once("close", () => child.stdout.resume());
      response.on("error", () => child.stdout.resume());
      child.ended
        .then(async ({ exitCode, stderr }) => {
          if (exitCode !== 0)
            log.debug({ repository_id: repository.id, exit_code: exitCode, stderr }, "push failed");
          await answered;
          if (accepted === undefined) return;
          const { note, request, observed } = accepted;
          const isBanded = list.capabilities().has("side-band-64k");
          const moved = readReport(report.bytes(), isBanded);
          const changes = await toMoved(repository, request.commands, moved);
          const options = toPushOptions(request.options);
          await recordPush({ noteId: note.id, repository, pusher, changes, options, observed });
        })
        .catch((error: unknown) =>
          log.error(
            { err: error, repository_id: repository.id },
            "failed to record a push; the journal will retry",
          ),
        )
        .then(() => {
          accepted?.note.end();
          response.end();
        })
        .catch((error: unknown) => response.destroy(error as Error));
      return response;
    },
  };

  /**
   * Returns the changes that git made: those that it reports as `accepted`; without a report, those whose refs have the
   * new value.
   */
  async function toMoved(
    repository: ForgeRepository,
    commands: readonly PushCommand[],
    accepted: ReadonlySet<string> | undefined,
  ): Promise<RefChange[]> {
    const names = commands.map(({ ref }) => ref);
    const refs =
      accepted === undefined
        ? await runInFolder(repository, (directory) => readRefs(git, directory, names))
        : undefined;
    return toChanges(commands).filter(({ ref, before, after }) => {
      if (before === after) return false;
      return refs === undefined ? accepted?.has(ref) === true : refs.get(ref) === after;
    });
  }
}

/** Tells git which ref was moved in the place of the pushed one (`proc-receive` in githooks). */
function toReport({ ref, before, after, isForced }: ReviewedRef): readonly string[] {
  return [
    `refname ${ref}`,
    ...(before === undefined ? [] : [`old-oid ${before}`]),
    `new-oid ${after}`,
    ...(isForced ? ["forced-update"] : []),
  ];
}

function toChanges(commands: readonly PushCommand[]): RefChange[] {
  return commands.map(({ ref, before, after }) => ({
    ref,
    before: toId(before),
    after: toId(after),
  }));
}

/** Reads the options that this server supports and ignores others. */
function toPushOptions(options: readonly string[]): PushOptions {
  const flag = (name: string) => {
    const value = options
      .findLast((option) => option.startsWith(`${name}=`))
      ?.slice(name.length + 1);
    return value === "true" ? true : value === "false" ? false : undefined;
  };
  return { isPrivate: flag("repo.private"), isTemplate: flag("repo.template") };
}

/** Returns the words of a refusal that passes by itself: the rules could not be evaluated now. */
function toPassingReason(error: unknown): string | undefined {
  const refusal = toKnownRefusal(error);
  return refusal !== undefined && PASSING.has(refusal.code) ? refusal.message : undefined;
}

const PASSING: ReadonlySet<ErrorCode> = new Set(["unavailable", "rate_limited", "storage_full"]);

const toKey = ({ ref, before, after }: PushCommand) => `${before} ${after} ${ref}`;

function toId(id: string): string | undefined {
  return /^0+$/.test(id) ? undefined : id;
}

/** Buffers a stream up to a limit. */
function createCollector(bytesMax: number) {
  let chunks: Buffer[] = [];
  let size = 0;
  return {
    /** Returns whether all bytes so far are buffered. */
    add(chunk: Buffer): boolean {
      size += chunk.byteLength;
      if (size <= bytesMax) chunks.push(chunk);
      else chunks = [];
      return size <= bytesMax;
    },
    bytes: () => Buffer.concat(chunks),
  };
}
