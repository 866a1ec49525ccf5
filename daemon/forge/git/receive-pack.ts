import { PassThrough, type Readable } from "node:stream";
import type { Git, GitProcess } from "../../../storage/git/git.ts";
import { readRefs } from "../../../storage/git/refs.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { Log } from "../../utilities/logging.ts";
import type { ActingUser } from "../caller.ts";
import type { OwnedRepository, RefChange } from "../repositories/events.ts";
import { pipeBody } from "./request-body.ts";
import type { RecordPush, PushOptions } from "./record-push.ts";
import { type PushCommands, createCommandsReader, readReport } from "./push-commands.ts";
import { type PushGuard, toFatalMessage, toRefusal } from "./push-guard.ts";
import type { PushJournal, PushNote } from "./push-journal.ts";
import type { RunInFolder } from "./run-in-folder.ts";

export interface ReceivePackDeps {
  readonly git: Git;
  readonly runInFolder: RunInFolder;
  readonly journal: PushJournal;
  readonly recordPush: RecordPush;
  readonly log: Log;
  readonly pushBytesMax: number;
}

interface PushBody {
  readonly body: Readable;
  readonly contentEncoding: string | undefined;
  readonly signal: AbortSignal;
  /** Whether the client waits for git before it ends the body, as over SSH. */
  readonly isConversation?: boolean;
}

/**
 * Longest list of commands. A push with a longer one is refused, because it could not be checked before git moves refs.
 */
const COMMANDS_BYTES_MAX = 16 * 1024 * 1024;
const UNREADABLE =
  "croft: the list of refs is too long or cannot be read; push fewer refs at a time, without --signed";
const REPORT_BYTES_MAX = 16 * 1024 * 1024;
/** `receive.maxInputSize` limits the pack alone and reports that to the client; this limits the whole body. */
const ALLOWANCE_BYTES = COMMANDS_BYTES_MAX;

/** Runs pushes and records the refs that they moved. */
export function createReceivePack(deps: ReceivePackDeps) {
  const { git, runInFolder, journal, recordPush, log, pushBytesMax } = deps;
  return {
    /**
     * Pipes a push into `git receive-pack` and returns its response, which ends after the push was recorded. Git
     * receives the end of the commands only after the journal entry was written, so every moved ref gets published.
     */
    run(
      child: GitProcess,
      { body, contentEncoding, signal, isConversation }: PushBody,
      owned: OwnedRepository & {
        readonly pusher: ActingUser;
        readonly guard: PushGuard;
        /**
         * Returns why the pusher may no longer push. Called when the commands have arrived, and again before git
         * receives the end of the pack: both may be long after the connection began.
         */
        readonly findRefusal: () => Promise<string | undefined>;
      },
    ): Readable {
      const commands = createCommandsReader(COMMANDS_BYTES_MAX);
      let push: PushCommands | "malformed" | undefined;
      let note: PushNote | undefined;
      const response = new PassThrough();
      const isWhole = pipeBody({ body, contentEncoding }, child, {
        bytesMax: pushBytesMax + ALLOWANCE_BYTES,
        lastChunk: { confirm: assertAllowed, isOpenEnded: isConversation === true },
        onBytes(chunk) {
          if (push !== undefined) return undefined;
          push = commands.read(chunk);
          if (push === undefined) return undefined;
          // Git may accept commands that this parser cannot read, and would move refs without a check.
          if (push === "malformed") {
            response.write(toFatalMessage(commands.capabilities(), UNREADABLE));
            return Promise.reject(new Error("the push has an invalid list of refs"));
          }
          if (push.commands.length === 0) return undefined;
          return begin(push);
        },
      });
      /** Rejects when the push is refused: then git never receives the end of the commands. */
      async function begin(requested: PushCommands): Promise<void> {
        const changes = toRequestedChanges(requested);
        await refuseFor(requested, "failed to write the journal entry of a push", async () => {
          const reason =
            (await owned.findRefusal()) ?? (await owned.guard.check(owned.pusher, changes));
          if (reason === undefined)
            note = await journal.begin(owned.repository, owned.pusher.id, changes);
          return reason;
        });
      }
      /** Rejects when the pusher has lost the right to push: then git never receives the end of the pack. */
      function assertAllowed(): Promise<void> {
        return refuseFor(push, "failed to check the right to push", owned.findRefusal);
      }
      /** Rejects with the reason for a refusal, if any, after reporting it to the client. */
      async function refuseFor(
        requested: PushCommands | "malformed" | undefined,
        failure: string,
        findReason: () => Promise<string | undefined>,
      ): Promise<void> {
        const reason = await findReason().catch((error: unknown) => {
          log.error({ err: error, repository_id: owned.repository.id }, failure);
          throw error;
        });
        if (reason === undefined) return;
        if (typeof requested === "object") response.write(toRefusal(requested, reason));
        throw new Error("the push is refused");
      }
      // A push that has arrived completely is carried out, because git may have moved refs already.
      const stopUnlessWhole = () => {
        if (!isWhole()) child.stop();
      };
      signal.addEventListener("abort", stopUnlessWhole, { once: true });

      const report = createCollector(REPORT_BYTES_MAX);
      child.stdout.on("data", (chunk: Buffer) => {
        report.add(chunk);
        if (response.writable && !response.write(chunk)) child.stdout.pause();
      });
      response.on("drain", () => child.stdout.resume());
      // A client that disconnects must not block git.
      response.once("close", () => child.stdout.resume());
      response.on("error", () => child.stdout.resume());
      void child.ended
        .then(async ({ exitCode, stderr }) => {
          if (exitCode !== 0)
            log.debug(
              { repository_id: owned.repository.id, exit_code: exitCode, stderr },
              "push failed",
            );
          if (push === undefined || push === "malformed" || note === undefined) return;
          const { repository, pusher } = owned;
          const changes = await toChanges(repository, push, report.bytes());
          const options = toPushOptions(push.options);
          await recordPush({ noteId: note.id, repository, pusher, changes, options });
        })
        .catch((error: unknown) =>
          log.error(
            { err: error, repository_id: owned.repository.id },
            "failed to record a push; the journal will retry",
          ),
        )
        .finally(() => {
          note?.end();
          response.end();
          return owned.guard.end();
        });
      return response;
    },
  };

  /**
   * Returns the refs that a push moved: those that git reports as accepted; without a report, those that have the new
   * value.
   */
  async function toChanges(
    repository: ForgeRepository,
    push: PushCommands,
    response: Buffer | undefined,
  ): Promise<RefChange[]> {
    const { commands, capabilities } = push;
    const accepted = response && readReport(response, capabilities.has("side-band-64k"));
    const refs =
      accepted === undefined
        ? await runInFolder(repository, (directory) =>
            readRefs(
              git,
              directory,
              commands.map(({ ref }) => ref),
            ),
          )
        : undefined;
    return toRequestedChanges(push).filter(({ ref, before, after }) => {
      if (before === after) return false;
      return refs === undefined ? accepted?.has(ref) === true : refs.get(ref) === after;
    });
  }
}

function toRequestedChanges({ commands }: PushCommands): RefChange[] {
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
