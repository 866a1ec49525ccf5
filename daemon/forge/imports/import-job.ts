import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import {
  findImport,
  type ForgeImport,
  type ImportProgress,
  updateImport,
} from "../../../storage/tables/forge/repositories/imports.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import type { GuardedRequest } from "../../outbound/guarded-request.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { Log } from "../../utilities/logging.ts";
import { findImportedPull } from "../../../storage/tables/forge/issues/issues.ts";
import { gitea, github } from "./dialects.ts";
import { writeReviews } from "./import-reviews.ts";
import { IMPORT_KIND, importParts, type ImportPart } from "./import-parts.ts";
import type { createLargeFileImport } from "./import-large-files.ts";
import type { createReleaseImport } from "./import-releases.ts";
import {
  type createPullPreparation,
  type ImportTarget,
  type PreparedIssue,
  writeComments,
  writeIssues,
  writeLabels,
  writeMilestones,
  type Written,
} from "./import-writer.ts";
import { createImportShare, type ImportShare, SliceOver } from "./import-share.ts";
import { enqueueImport } from "./imports.service.ts";
import type { Credentials, CredentialSeals } from "./remote-address.ts";
import { RemoteUnusable } from "./remotes.ts";
import { createSource, type ImportSource, SourceAway, SourceBusy } from "./source.ts";

export interface ImportJobDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly enqueue: Enqueue;
  readonly log: Log;
  readonly seals: CredentialSeals;
  readonly request: GuardedRequest;
  readonly preparePulls: ReturnType<typeof createPullPreparation>;
  readonly importReleases: ReturnType<typeof createReleaseImport>;
  readonly openLargeFiles: ReturnType<typeof createLargeFileImport>;
  /** Maximum bytes of the files of an import, and of its pages. */
  readonly bytesMax: number;
  /** Computes the open pull requests of a repository by a job. */
  readonly computePulls: (
    tx: Transaction,
    repository: Pick<ForgeRepository, "id" | "ownerId">,
  ) => Promise<void>;
}

const payloadSchema = z.object({ repositoryId: z.int().brand<"RepositoryId">() });
/** Pages of one part: a source may list without end. */
const PAGES_MAX = 20_000;
/** How often an import waits for its source or its turn, since the last page and in all, before it fails. */
const PAUSES_MAX = { sincePage: 100, inAll: 5_000 };
/** The longest time between two attempts at a source that limits requests again and again. */
const PAUSE_MS_MAX = 3_600_000;
/** Beyond the time that one large file needs at the least rate. */
const TIMEOUT_MS = 24 * 3_600_000;

/** An import during one attempt. */
interface OpenImport {
  readonly target: ImportTarget;
  readonly source: ImportSource;
  readonly largeFiles: ReturnType<ImportJobDeps["openLargeFiles"]>;
  readonly share: ImportShare;
  readonly signal: AbortSignal;
}

type SourceReviews = Awaited<ReturnType<ImportSource["readReviews"]>>;

/** Thrown in the transaction of a page when the import was cancelled or deleted meanwhile. */
class ImportEnded extends Error {}

/** Opens the source of an import. */
export function openSource(
  {
    service,
    address,
    credentials,
  }: Pick<ForgeImport, "service" | "address"> & { readonly credentials: Credentials },
  { request, clock }: Pick<ImportJobDeps, "request" | "clock">,
  count: (bytes: number) => void = () => undefined,
): ImportSource {
  const dialect = service === "github" ? github : gitea;
  return createSource({ dialect, address, credentials, request, clock, count });
}

/**
 * The job that imports issues, pull requests and releases, page by page. The items of a page and the mark of the next page
 * are written in one transaction, so an attempt that is interrupted at any moment repeats nothing and leaves nothing out. It
 * emits no events: imported items cause no hooks, mails, notifications and activities.
 */
export function createImportJob(deps: ImportJobDeps): JobKind {
  const { db, clock, enqueue, log, seals } = deps;
  return {
    kind: IMPORT_KIND,
    concurrency: 4,
    inTurns: true,
    perAccountMax: 1,
    timeoutMs: TIMEOUT_MS,
    retryFirstMs: 10_000,
    async run(payload, { signal }) {
      const { repositoryId } = parsePayload(payloadSchema, payload);
      const begun = await db.transaction((tx) =>
        updateImport(tx, repositoryId, ["waiting", "running"], { state: "running" }),
      );
      if (begun === undefined) return;
      const { progress } = begun;
      const share = createImportShare({ clock, bytesMax: deps.bytesMax, progress });
      try {
        await work(begun, share, signal);
      } catch (error) {
        if (error instanceof ImportEnded) return;
        if (signal.aborted) throw error;
        await recordFailure(begun, share, error);
      }
    },
    async onAbandoned(tx, payload) {
      const { repositoryId } = parsePayload(payloadSchema, payload);
      await updateImport(tx, repositoryId, ["waiting", "running"], { state: "failed" });
    },
  };

  async function work(begun: ForgeImport, share: ImportShare, signal: AbortSignal): Promise<void> {
    const { repositoryId, actorId, sealedCredentials } = begun;
    const repository = await findRepositoryById(db, repositoryId);
    const actor = actorId === undefined ? undefined : await findUserById(db, actorId);
    if (repository === undefined) return;
    if (actor === undefined)
      throw new RemoteUnusable("the account of the importing person was deleted");
    const credentials =
      sealedCredentials === undefined
        ? { username: "", password: "", token: "" }
        : seals.openOfImport(repositoryId, sealedCredentials);
    const opened = { ...begun, credentials };
    const source = openSource(opened, deps, share.countPage);
    const largeFiles = deps.openLargeFiles(repository, opened, share);
    const target = { repository, actor };
    const open: OpenImport = { target, source, largeFiles, share, signal };
    let current = begun;
    for (let pages = 0; current.progress.part !== ""; pages += 1) {
      if (pages > 0 && share.isOver()) return goOnLater(current);
      signal.throwIfAborted();
      current = await importPage(current, open);
    }
    await db.transaction(async (tx) => {
      await updateImport(tx, repositoryId, ["running"], {
        state: "done",
        error: "",
        sealedCredentials: undefined,
      });
      await deps.computePulls(tx, repository);
    });
  }

  async function importPage(current: ForgeImport, open: OpenImport): Promise<ForgeImport> {
    const { progress, repositoryId } = current;
    const part = importParts.find((each) => each === progress.part) ?? "labels";
    const { page, write } = await prepare(part, current, open);
    const forkFiles = open.share.endPage();
    return db.transaction(async (tx) => {
      const written = await write(tx);
      const following = toNext(current, part, {
        ...page,
        imported: written.imported,
        skipped: written.skipped + page.malformed,
      });
      const next = {
        ...countForkFiles(following, forkFiles),
        ...open.share.counted(),
        pauses: 0,
      };
      const changed = await updateImport(tx, repositoryId, ["running"], {
        progress: next,
        error: "",
      });
      if (changed === undefined) throw new ImportEnded("the import has ended");
      return changed;
    });
  }

  /** Reads a page and does what takes long, before the transaction. */
  async function prepare(
    part: ImportPart,
    { address, parts, progress: { page } }: ForgeImport,
    { target, source, largeFiles, share, signal }: OpenImport,
  ) {
    if (part === "large_files") {
      const { written, ...rest } = await largeFiles.importBatch(page, signal);
      return { page: { ...rest, malformed: 0 }, write: async (): Promise<Written> => written };
    }
    if (part === "reviews") return prepareReviews(page, target, source, signal);
    if (part === "labels") {
      const read = await source.read(part, page, signal);
      return { page: read, write: (tx: Transaction) => writeLabels(tx, target, read.items) };
    }
    if (part === "milestones") {
      const read = await source.read(part, page, signal);
      return { page: read, write: (tx: Transaction) => writeMilestones(tx, target, read.items) };
    }
    if (part === "comments") {
      const read = await source.read(part, page, signal);
      return { page: read, write: (tx: Transaction) => writeComments(tx, target, read.items) };
    }
    if (part === "releases") {
      const read = await source.read(part, page, signal);
      const { origin } = new URL(address);
      const options = { origin, headers: source.headers, share, signal };
      const written = await deps.importReleases(target, read.items, options);
      return { page: read, write: async (): Promise<Written> => written };
    }
    const read = await source.read(part, page, signal);
    const prepared = await deps.preparePulls(target.repository, read.items, signal);
    if (parts.includes("large_files"))
      for (const [fork, heads] of groupByFork(prepared))
        await largeFiles.importOfFork({ address: fork, heads }, signal);
    return { page: read, write: (tx: Transaction) => writeIssues(tx, target, prepared) };
  }

  /** Reads the reviews of the next pull request. The page of this part is the lowest number that is still to be read. */
  async function prepareReviews(
    from: number,
    target: ImportTarget,
    source: ImportSource,
    signal: AbortSignal,
  ) {
    const next = await findImportedPull(db, target.repository.id, from);
    const none: SourceReviews = { items: [], malformed: 0 };
    const read = next === undefined ? none : await source.readReviews(next.number, signal);
    const number = next?.number ?? from;
    return {
      page: {
        malformed: read.malformed,
        hasMore: next !== undefined,
        total: undefined,
        nextPage: number + 1,
      },
      write: (tx: Transaction) => writeReviews(tx, target, number, read.items),
    };
  }

  /** Leaves the place to the imports of others after a page. */
  async function goOnLater({ repositoryId, actorId }: ForgeImport): Promise<void> {
    await db.transaction(async (tx) => {
      const changed = await updateImport(tx, repositoryId, ["running"], { state: "waiting" });
      if (changed !== undefined) await enqueueImport(enqueue, tx, { repositoryId, actorId });
    });
  }

  /**
   * Repeats the page at a later time. Fails an import that has been paused too often: a source may limit requests for ever. The
   * time doubles with each pause since the last page, whatever the source says.
   */
  async function pause(
    { repositoryId, actorId }: ForgeImport,
    share: ImportShare,
    { waitMs, words }: { readonly waitMs: number; readonly words: string },
  ): Promise<void> {
    await db.transaction(async (tx) => {
      const current = await findImport(tx, repositoryId);
      if (current === undefined) return;
      const pauses = current.progress.pauses + 1;
      const allPauses = current.progress.allPauses + 1;
      const isLast = pauses > PAUSES_MAX.sincePage || allPauses > PAUSES_MAX.inAll;
      const changed = await updateImport(tx, repositoryId, ["running"], {
        state: isLast ? "failed" : "waiting",
        error: isLast ? `${words} too often` : `${words}; it goes on later`,
        progress: { ...current.progress, ...share.counted(), pauses, allPauses },
      });
      if (isLast || changed === undefined) return;
      const least = waitMs === 0 ? 0 : Math.min(1_000 * 2 ** (pauses - 1), PAUSE_MS_MAX);
      const runAt = clock() + Math.max(waitMs, least);
      await enqueueImport(enqueue, tx, { repositoryId, actorId }, runAt);
    });
  }

  /** Records why an attempt failed. Throws what another attempt may pass. */
  async function recordFailure(
    begun: ForgeImport,
    share: ImportShare,
    error: unknown,
  ): Promise<void> {
    const { repositoryId } = begun;
    if (error instanceof SourceBusy)
      return pause(begun, share, {
        waitMs: error.waitMs,
        words: "the source limits requests",
      });
    if (error instanceof SliceOver)
      return pause(begun, share, { waitMs: 0, words: "the source takes long" });
    const isFinal = error instanceof RemoteUnusable;
    const words =
      isFinal || error instanceof SourceAway ? error.message : "it failed on this server";
    await db.transaction(async (tx) => {
      const current = await findImport(tx, repositoryId);
      if (current !== undefined)
        await updateImport(tx, repositoryId, ["running"], {
          state: isFinal ? "failed" : "waiting",
          error: words,
          progress: { ...current.progress, ...share.counted() },
        });
    });
    if (!isFinal) throw error;
    log.warn({ err: error, repository_id: repositoryId }, "failed to import a repository");
  }
}

/** Returns the heads of pull requests by the addresses of their forks. */
function groupByFork(prepared: readonly PreparedIssue[]): ReadonlyMap<string, readonly string[]> {
  const heads = new Map<string, string[]>();
  for (const { issue, commits } of prepared) {
    const address = issue.pull?.forkAddress;
    if (address === undefined || commits === undefined) continue;
    heads.set(address, [...(heads.get(address) ?? []), commits.headCommit]);
  }
  return heads;
}

/** The part of large files, which asked the source itself for them, has counted the files of forks as left out. */
function countForkFiles(progress: ImportProgress, count: number): ImportProgress {
  if (count === 0) return progress;
  const { imported, skipped } = progress;
  return {
    ...progress,
    imported: { ...imported, large_files: (imported["large_files"] ?? 0) + count },
    skipped: { ...skipped, large_files: Math.max(0, (skipped["large_files"] ?? 0) - count) },
  };
}

/** Returns the progress after a page. */
function toNext(
  { progress, parts }: Pick<ForgeImport, "progress" | "parts">,
  part: ImportPart,
  {
    imported,
    skipped,
    hasMore,
    total,
    nextPage,
  }: {
    readonly imported: number;
    readonly skipped: number;
    readonly hasMore: boolean;
    readonly total: number | undefined;
    /** Where the pages of a part are not counted. */
    readonly nextPage?: number;
  },
): ImportProgress {
  const isLast = !hasMore || (nextPage === undefined && progress.page >= PAGES_MAX);
  const following = parts[parts.indexOf(part) + 1] ?? "";
  const add = (counts: Readonly<Record<string, number>>, count: number) => ({
    ...counts,
    [part]: (counts[part] ?? 0) + count,
  });
  return {
    ...progress,
    part: isLast ? following : part,
    page: isLast ? 1 : (nextPage ?? progress.page + 1),
    imported: add(progress.imported, imported),
    skipped: add(progress.skipped, skipped),
    totals: total === undefined ? progress.totals : { ...progress.totals, [part]: total },
  };
}
