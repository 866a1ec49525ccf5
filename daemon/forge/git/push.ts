import { PassThrough, type Readable } from "node:stream";
import type { Database } from "../../../storage/engine/database.ts";
import type { Git, GitProcess } from "../../../storage/git/git.ts";
import {
  chooseDefaultBranch,
  readBranches,
  readRefs,
  readSizeKib,
  writeHead,
} from "../../../storage/git/refs.ts";
import {
  findRepositoryById,
  type ForgeRepository,
  updateRepository,
} from "../../../storage/tables/forge/repositories.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/users.ts";
import type { Log } from "../../logging.ts";
import type { OwnedRepository, RefChange, RepositoryEvents } from "../repositories/events.ts";
import { feedGit } from "./feed.ts";
import { type PushCommands, readCommands, readReport } from "./pkt-line.ts";

export interface PushesDeps {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly events: RepositoryEvents;
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
  const { db, git, locate, events, log, pushBytesMax } = deps;
  return {
    /** Feeds a push into `git receive-pack` and returns its answer, which ends when the record has followed. */
    run(
      child: GitProcess,
      { body, contentEncoding, signal }: PushBody,
      what: OwnedRepository & { readonly pusher: ForgeUser },
    ): Readable {
      const commands = createCollector(COMMANDS_BYTES_MAX);
      let asked: PushCommands | "malformed" | undefined;
      const isWhole = feedGit({ body, contentEncoding }, child, {
        bytesMax: pushBytesMax + ALLOWANCE_BYTES,
        onBytes(chunk) {
          if (asked !== undefined || !commands.add(chunk)) return;
          asked = readCommands(commands.bytes());
          if (asked !== undefined) commands.clear();
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
          if (asked === undefined || asked === "malformed") return;
          await follow(what, await toChanges(what.repository, asked, report.bytes()));
        })
        .catch((error: unknown) =>
          log.error(
            { err: error, repository_id: what.repository.id },
            "a push went through, but its record could not follow",
          ),
        )
        .finally(() => answer.end());
      return answer;
    },
  };

  /** What a push has really moved: what git says it accepted, else what the refs look like now. */
  async function toChanges(
    repository: ForgeRepository,
    { commands, capabilities }: PushCommands,
    answer: Buffer | undefined,
  ): Promise<RefChange[]> {
    if (commands.length === 0) return [];
    const accepted = answer && readReport(answer, capabilities.has("side-band-64k"));
    const refs =
      accepted === undefined
        ? await readRefs(
            git,
            await locate(repository),
            commands.map(({ ref }) => ref),
          )
        : undefined;
    return commands
      .map(({ ref, before, after }) => ({ ref, before: toId(before), after: toId(after) }))
      .filter(({ ref, before, after }) => {
        if (before === after) return false;
        return refs === undefined ? accepted?.has(ref) === true : refs.get(ref) === after;
      });
  }

  async function follow(
    { repository, pusher }: OwnedRepository & { readonly pusher: ForgeUser },
    changes: readonly RefChange[],
  ): Promise<void> {
    if (changes.length === 0) return;
    const directory = await locate(repository);
    const facts = await readBranches(git, directory);
    const sizeKib = await readSizeKib(git, directory);
    const isNew = facts.head === undefined || !facts.branches.includes(facts.head);
    const chosen = isNew ? chooseDefaultBranch(facts, [repository.defaultBranch]) : undefined;
    // The first branch of an empty repository becomes its default when the expected one did not come.
    if (repository.isEmpty && chosen !== undefined) await writeHead(git, directory, chosen);
    const defaultBranch =
      repository.isEmpty && chosen !== undefined ? { defaultBranch: chosen } : {};
    await db.transaction(async (tx) => {
      await updateRepository(tx, repository.id, {
        isEmpty: facts.branches.length === 0,
        branchCount: facts.branches.length,
        sizeKib,
        updatedAt: tx.now,
        ...defaultBranch,
      });
      const today = await findRepositoryById(tx, repository.id);
      const owner = today && (await findUserById(tx, today.ownerId));
      if (today !== undefined && owner !== undefined)
        await events.pushed?.(tx, { repository: today, owner, pusher, changes });
    });
  }
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
