import { hostname } from "node:os";
import type { CliContext } from "../../../../context.ts";
import { DryRun } from "../../../../errors.ts";
import type { Progress } from "../../../../output/progress.ts";
import type { Outcome } from "../../../../support/batch.ts";
import { createSyncFilter, type SyncFilter } from "../sync-filter.ts";
import { createRetries } from "../transfer.ts";
import { assertFewDeletions, assertNotEmptied, type MaxDelete } from "./limits.ts";
import type { Pair } from "./pair.ts";
import { carryOut, carryOutMoves, type Done, type Work } from "./carry-out.ts";
import { createLocalFolderSide, type LocalSide } from "./local-side.ts";
import {
  findFileMoves,
  findFolderMoves,
  findRenameCandidates,
  type Move,
  rekeyAgreements,
  withMove,
} from "./moves.ts";
import type { Agreements, PairState } from "./pair-state.ts";
import { isAtOrBelow, isUntouched, planBoth, type Situation, type Step } from "./plan.ts";
import { createRemoteFolderSide, type RemoteScan, type RemoteSide } from "./remote-side.ts";
import { type LocalScan, type Scan } from "./scan.ts";

/** What limits a run. */
export interface BothOptions {
  readonly exclude?: readonly string[] | undefined;
  readonly include?: readonly string[] | undefined;
  /** Most entries that a run may delete of one side. */
  readonly maxDelete: MaxDelete | undefined;
}

/** Passes of one run: files that change while they are copied are tried again. */
const PASSES_MAX = 4;
/** Further passes for renames, each of which is followed by a new look at both sides. */
const MOVE_PASSES_MAX = 6;
/** Files that are hashed at one time. */
const HASHES_AT_ONCE = 4;
/** Pause between two writes of the state. What a crash loses of it is compared by bytes in the next run. */
const SAVE_MS = 2_000;

/** Both sides of a run, and what it works with. */
export interface Sides {
  readonly cli: Pick<CliContext, "clock" | "signal" | "flags">;
  readonly pair: Pick<Pair, "state" | "localWord" | "remoteWord" | "missing">;
  readonly options: BothOptions;
  readonly local: LocalSide;
  readonly remote: RemoteSide;
}

interface Run extends Sides {
  /** Renames that a side cannot follow, as text. */
  readonly refused: Set<string>;
  readonly state: PairState | undefined;
  agreements: Agreements;
}

/** Makes both sides equal and returns what was done; a path that failed has its last failure. */
export async function runBoth(
  cli: CliContext,
  pair: Pair,
  options: BothOptions,
  progress: Progress,
): Promise<readonly Outcome<Done>[]> {
  const retries = createRetries(cli, progress);
  const local = createLocalFolderSide(cli.system, pair.localRoot);
  const remote = createRemoteFolderSide(
    retries,
    progress,
    { connectionId: pair.connectionId, id: pair.folderId },
    { local, isCaseSensitive: pair.isCaseSensitive },
  );
  try {
    return await runSides({ cli, pair, options, local, remote });
  } finally {
    progress.finish();
  }
}

/** As `runBoth`, for sides that are open. */
export async function runSides(sides: Sides): Promise<readonly Outcome<Done>[]> {
  const state = await sides.pair.state.load();
  const agreements: Agreements = new Map(state?.entries);
  const run: Run = { ...sides, refused: new Set(), agreements, state };
  let done: readonly Outcome<Done>[] = [];
  let failed: readonly Outcome<Done>[] = [];
  for (let passes = 0, movePasses = 0; passes < PASSES_MAX;) {
    const { outcomes, next } = await runPass(run);
    const fresh = outcomes.filter(({ value }) => value !== undefined && value.action !== "skip");
    done = [...done, ...fresh];
    failed = outcomes.filter(({ failure }) => failure !== undefined);
    if (next === "none") break;
    if (next === "moved" && movePasses < MOVE_PASSES_MAX) movePasses += 1;
    else passes += 1;
  }
  return [...done, ...failed];
}

/** What follows a pass: nothing, a new look after renames, or another try. */
type Next = "none" | "moved" | "retry";

async function runPass(run: Run): Promise<{ outcomes: readonly Outcome<Done>[]; next: Next }> {
  const { pair, options, cli } = run;
  const scannedAt = cli.clock();
  const filter = createSyncFilter(options);
  const { local, remote } = await scanBoth(run, filter);
  for (const [path, { kind }] of run.agreements)
    if (isIgnoredPath(filter, path, kind === "folder")) run.agreements.delete(path);
  const { maxDelete } = options;
  const found = { pair, state: run.state, maxDelete, local, remote };
  if (run.agreements.size > 0) assertNotEmptied(found);
  const seen = { local, remote, agreements: run.agreements };
  const { moves, hashes, after } = await findMoves(run, seen);
  const situation: Situation = { ...after, hashes, scannedAt };
  const steps = planBoth(situation);
  assertFewDeletions(found, steps);
  if (cli.flags.dryRun) throw toDryRun(moves, steps);
  const saver = createSaver(run, local.rootIno);
  const work = toWork(run, remote, saver.save);
  try {
    if (moves.length > 0) return await follow(run, work, moves, seen);
    run.agreements = situation.agreements;
    const outcomes = await carryOut({ ...work, agreements: run.agreements }, steps);
    const isUnsettled = ({ failure, value }: Outcome<Done>) =>
      failure?.code === "stale" || (value?.action === "conflict" && value.side !== null);
    // A file takes the place of a folder, or the other way round.
    const waits = steps.some(
      ({ action, path }) =>
        action === "delete" && local.entries.has(path) && remote.entries.has(path),
    );
    return { outcomes, next: outcomes.some(isUnsettled) || waits ? "retry" : "none" };
  } finally {
    await saver.flush();
  }
}

async function scanBoth(
  { local, remote, pair: { missing } }: Run,
  filter: SyncFilter,
): Promise<{ readonly local: LocalScan; readonly remote: RemoteScan }> {
  const nothing = { entries: new Map(), blocked: new Map(), holdsIgnored: new Set<string>() };
  const empty = { ...nothing, isCaseSensitive: true };
  const whole = missing.local ? { ...empty, rootIno: "" } : await local.scan(filter);
  const scan =
    missing.remote === undefined ? await remote.scan(filter) : { ...empty, tree: new Map() };
  // The connection may have rules of its own.
  return { local: withoutIgnored(whole, filter), remote: scan };
}

function withoutIgnored<S extends Scan<{ readonly kind: string }>>(scan: S, filter: SyncFilter): S {
  const entries = new Map(scan.entries);
  const holdsIgnored = new Set(scan.holdsIgnored);
  const leftOut = new Set<string>();
  for (const [path, { kind }] of scan.entries) {
    if (!isAtOrBelow(path, leftOut) && !filter.isIgnored(path, kind === "folder")) continue;
    leftOut.add(path);
    entries.delete(path);
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
      holdsIgnored.add(path.slice(0, at));
  }
  const blocked = new Map(
    [...scan.blocked].filter(
      ([path]) => !isAtOrBelow(path, leftOut) && !filter.isIgnored(path, false),
    ),
  );
  return { ...scan, entries, holdsIgnored, blocked };
}

/** Whether a rule leaves out a path or a folder above it. */
function isIgnoredPath(filter: SyncFilter, path: string, isFolder: boolean): boolean {
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1))
    if (filter.isIgnored(path.slice(0, at), true)) return true;
  return filter.isIgnored(path, isFolder);
}

/** Renames that one side follows, and the situation after them. */
async function findMoves(
  run: Run,
  seen: Omit<Situation, "hashes" | "scannedAt">,
): Promise<{
  readonly moves: readonly Move[];
  readonly hashes: ReadonlyMap<string, string | undefined>;
  readonly after: Omit<Situation, "hashes" | "scannedAt">;
}> {
  const isPossible = (move: Move) => !run.refused.has(JSON.stringify(move));
  const folderMoves = findFolderMoves(seen).filter(isPossible);
  const afterFolders = folderMoves.reduce(applyMove, seen);
  const hashes = await hashChanged(run, afterFolders);
  const fileMoves = findFileMoves(afterFolders, hashes).filter(isPossible);
  const after = fileMoves.reduce(applyMove, afterFolders);
  return { moves: [...folderMoves, ...fileMoves], hashes, after };
}

function applyMove<S extends Omit<Situation, "hashes" | "scannedAt">>(seen: S, move: Move): S {
  const local = move.on === "local" ? withMove(seen.local, move) : seen.local;
  const remote = move.on === "remote" ? withMove(seen.remote, move) : seen.remote;
  return { ...seen, local, remote, agreements: rekeyAgreements(seen.agreements, move, remote) };
}

/** Hashes local files that may have changed, and those that may be renamed ones. */
async function hashChanged(
  { local, cli }: Run,
  seen: Omit<Situation, "hashes" | "scannedAt">,
): Promise<ReadonlyMap<string, string | undefined>> {
  const hashes = new Map<string, string | undefined>();
  const changed = [...seen.local.entries].filter(([path, { kind, mark }]) => {
    const agreed = seen.agreements.get(path);
    return kind === "file" && agreed?.kind === "file" && !isUntouched(agreed, mark);
  });
  const candidates = new Set(findRenameCandidates(seen));
  const maybeMoved = [...seen.local.entries].filter(([, entry]) => candidates.has(entry));
  const queue = [...changed, ...maybeMoved].values();
  const work = async () => {
    for (const [path, entry] of queue) {
      cli.signal.throwIfAborted();
      // It is being written, or must not be read: the transfer reports the failure.
      hashes.set(path, await local.hash(entry).catch(() => undefined));
    }
  };
  await Promise.all(Array.from({ length: HASHES_AT_ONCE }, work));
  return hashes;
}

/** Follows renames, and records each under its new path. The files are compared in the next pass. */
async function follow(
  run: Run,
  work: Work,
  moves: readonly Move[],
  seen: Omit<Situation, "hashes" | "scannedAt">,
): Promise<{ outcomes: readonly Outcome<Done>[]; next: Next }> {
  const isFolder = ({ kind }: Move) => kind === "folder";
  // The ids of files may change with their folders.
  const first = moves.some(isFolder) ? moves.filter(isFolder) : moves;
  const entriesOf = ({ on, from }: Move) =>
    on === "local" ? seen.local.entries.get(from) : seen.remote.entries.get(from);
  const { moved, refused } = await carryOutMoves(work, first, entriesOf);
  for (const move of refused) run.refused.add(JSON.stringify(move));
  run.agreements = moved.reduce(applyMove, seen).agreements;
  const outcomes = moved.map(({ from, to, on }): Outcome<Done> => ({
    item: to,
    value: { action: "move", side: on, size: null, other_path: from },
    failure: undefined,
  }));
  return { outcomes, next: "moved" };
}

function toWork(run: Run, scan: RemoteScan, save: () => Promise<void>): Work {
  const { cli, local, remote, agreements } = run;
  const host = hostname()
    .replaceAll(/[^\p{L}\p{N}._-]/gu, "_")
    .slice(0, 40);
  const day = new Date(cli.clock()).toISOString().slice(0, 10);
  return {
    cli,
    local,
    remote,
    scan,
    agreements,
    save,
    mark: `${day} ${host === "" ? "host" : host}`,
  };
}

function createSaver(run: Run, rootIno: string) {
  let savedAt = run.cli.clock();
  let saving: Promise<void> = Promise.resolve();
  const write = () =>
    (saving = saving
      .catch(() => undefined)
      .then(() => run.pair.state.save({ rootIno, entries: run.agreements })));
  return {
    /** Writes the state now and then. */
    async save(): Promise<void> {
      if (run.cli.clock() - savedAt < SAVE_MS) return;
      savedAt = run.cli.clock();
      await write();
    },
    flush: write,
  };
}

function toDryRun(moves: readonly Move[], steps: readonly Step[]): DryRun {
  const plan = steps.flatMap((step) => {
    const { action, path } = step;
    if (action === "agree" || action === "forget") return [];
    const entry = "entry" in step ? step.entry : "local" in step ? step.local : undefined;
    const size = entry?.mark.size ?? ("remote" in step ? step.remote?.mark.size : null) ?? null;
    const on =
      action === "upload"
        ? "remote"
        : action === "download"
          ? "local"
          : "on" in step
            ? step.on
            : null;
    const reason = action === "skip" ? step.reason : null;
    return [{ action, path, side: on, size, other_path: null, reason }];
  });
  const renamed = moves.map(({ from, to, on }) => ({
    action: "move",
    path: to,
    side: on,
    size: null,
    other_path: from,
    reason: null,
  }));
  return new DryRun({ plan: [...renamed, ...plan] });
}
