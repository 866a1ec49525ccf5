import { PassThrough, type Readable } from "node:stream";
import type { Git, GitProcess } from "../../../storage/git/git.ts";
import { readRefs } from "../../../storage/git/refs.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { Log } from "../../utilities/logging.ts";
import type { OwnedRepository, RefChange } from "../repositories/events.ts";
import { feedGit } from "./feed.ts";
import type { FollowPush, PushWishes } from "./following.ts";
import { type PushCommands, readCommands, readReport } from "./pkt-line.ts";
import type { PushJournal, PushNote } from "./push-journal.ts";

export interface PushesDeps {
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly journal: PushJournal;
  readonly follow: FollowPush;
  readonly log: Log;
  readonly pushBytesMax: number;
}

interface PushBody {
  readonly body: Readable;
  readonly contentEncoding: string | undefined;
  readonly signal: AbortSignal;
}

/** The list of refs at the head of a push; a longer one is told by looking at the refs afterwards. */
const COMMANDS_BYTES_MAX = 16 * 1024 * 1024;
const REPORT_BYTES_MAX = 16 * 1024 * 1024;
/** `receive.maxInputSize` counts the pack alone, and tells the client; this is the bound on everything. */
const ALLOWANCE_BYTES = COMMANDS_BYTES_MAX;

/** Runs pushes, and has the record and others follow what they have moved. */
export function createPushes(deps: PushesDeps) {
  const { git, locate, journal, follow, log, pushBytesMax } = deps;
  return {
    /**
     * Feeds a push into `git receive-pack` and returns its answer, which ends when the record has followed. Git is given
     * the end of the commands when the push is noted, so it moves no ref that nobody would ever be told of.
     */
    run(
      child: GitProcess,
      { body, contentEncoding, signal }: PushBody,
      what: OwnedRepository & { readonly pusher: ForgeUser },
    ): Readable {
      const commands = createCollector(COMMANDS_BYTES_MAX);
      let asked: PushCommands | "malformed" | undefined;
      let note: PushNote | undefined;
      const isWhole = feedGit({ body, contentEncoding }, child, {
        bytesMax: pushBytesMax + ALLOWANCE_BYTES,
        onBytes(chunk) {
          if (asked !== undefined || !commands.add(chunk)) return undefined;
          asked = readCommands(commands.bytes());
          if (asked === undefined) return undefined;
          commands.clear();
          if (asked === "malformed" || asked.commands.length === 0) return undefined;
          return journal
            .begin(what.repository, what.pusher.id, toAsked(asked))
            .then((made) => (note = made))
            .catch((error: unknown) => {
              log.error({ err: error, repository_id: what.repository.id }, "a push was not noted");
              throw error;
            });
        },
      });
      // What has arrived whole is carried out: git may have moved refs already.
      const stopUnlessWhole = () => {
        if (!isWhole()) child.stop();
      };
      signal.addEventListener("abort", stopUnlessWhole, { once: true });

      const answer = new PassThrough();
      const report = createCollector(REPORT_BYTES_MAX);
      child.stdout.on("data", (chunk: Buffer) => {
        report.add(chunk);
        if (answer.writable && !answer.write(chunk)) child.stdout.pause();
      });
      answer.on("drain", () => child.stdout.resume());
      // A client that has gone must not keep git waiting.
      answer.once("close", () => child.stdout.resume());
      answer.on("error", () => child.stdout.resume());
      void child.ended
        .then(async ({ exitCode, stderr }) => {
          if (exitCode !== 0)
            log.debug(
              { repository_id: what.repository.id, exit_code: exitCode, stderr },
              "a push failed",
            );
          if (asked === undefined || asked === "malformed" || note === undefined) return;
          const { repository, pusher } = what;
          const changes = await toChanges(repository, asked, report.bytes());
          const wishes = toWishes(asked.options);
          await follow({ noteId: note.id, repository, pusher, changes, wishes });
        })
        .catch((error: unknown) =>
          log.error(
            { err: error, repository_id: what.repository.id },
            "a push went through, but its record could not follow yet",
          ),
        )
        .finally(() => {
          note?.end();
          answer.end();
        });
      return answer;
    },
  };

  /** What a push has really moved: what git says it accepted, else what the refs look like now. */
  async function toChanges(
    repository: ForgeRepository,
    asked: PushCommands,
    answer: Buffer | undefined,
  ): Promise<RefChange[]> {
    const { commands, capabilities } = asked;
    const accepted = answer && readReport(answer, capabilities.has("side-band-64k"));
    const refs =
      accepted === undefined
        ? await readRefs(
            git,
            await locate(repository),
            commands.map(({ ref }) => ref),
          )
        : undefined;
    return toAsked(asked).filter(({ ref, before, after }) => {
      if (before === after) return false;
      return refs === undefined ? accepted?.has(ref) === true : refs.get(ref) === after;
    });
  }
}

function toAsked({ commands }: PushCommands): RefChange[] {
  return commands.map(({ ref, before, after }) => ({
    ref,
    before: toId(before),
    after: toId(after),
  }));
}

/** Options that this server knows; git and others have more, which do nothing here. */
function toWishes(options: readonly string[]): PushWishes {
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

/** Keeps the beginning of a stream. */
function createCollector(bytesMax: number) {
  let chunks: Buffer[] = [];
  let size = 0;
  return {
    /** Whether everything so far is kept. */
    add(chunk: Buffer): boolean {
      size += chunk.byteLength;
      if (size <= bytesMax) chunks.push(chunk);
      else chunks = [];
      return size <= bytesMax;
    },
    bytes: () => Buffer.concat(chunks),
    clear() {
      chunks = [];
    },
  };
}
