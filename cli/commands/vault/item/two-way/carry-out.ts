import { dirname } from "node:path";
import type { CliContext } from "../../../../context.ts";
import { CliError, toCliError } from "../../../../errors.ts";
import { failedTask, type Outcome, runTasks, type Task } from "../../../../support/batch.ts";
import { BATCHED_AT_ONCE } from "../transfer.ts";
import { type LocalSide, type Staged } from "./local-side.ts";
import type { Move } from "./moves.ts";
import type { Agreed, Agreements } from "./pair-state.ts";
import { isAtOrBelow, type Step } from "./plan.ts";
import type { RemoteEntry, RemoteScan, RemoteSide, Stored } from "./remote-side.ts";
import { changedMeanwhile, type LocalEntry } from "./scan.ts";

/** The outcome of one path. */
export interface Done {
  readonly action: "upload" | "download" | "folder" | "move" | "delete" | "conflict" | "skip";
  /** The side that was changed; null when both were. */
  readonly side: "local" | "remote" | null;
  readonly size: number | null;
  /** Of a move the path before, of a conflict the path of the local version. */
  readonly other_path: string | null;
}

/** What a pass works with. */
export interface Work {
  readonly cli: Pick<CliContext, "clock">;
  readonly local: LocalSide;
  readonly remote: RemoteSide;
  readonly scan: RemoteScan;
  readonly agreements: Agreements;
  /** Called after each change of the agreements. */
  readonly save: () => Promise<void>;
  /** `2026-11-28 laptop`, for the names of conflicts. */
  readonly mark: string;
}

type Change = Exclude<Step, { action: "agree" | "forget" }>;

/** Executes a plan: folders, then files, then deletions, those of files before those of folders. */
export async function carryOut(work: Work, steps: readonly Step[]): Promise<Outcome<Done>[]> {
  const { agreements } = work;
  const folderIds = createFolderIds(work);
  const outcomes: Outcome<Done>[] = [];
  const run = async (tasks: Iterable<Task<Done>> | AsyncIterable<Task<Done>>, atOnce: number) => {
    for (const outcome of await runTasks(tasks, atOnce)) outcomes.push(outcome);
  };
  const changes: Change[] = [];
  for (const step of steps)
    if (step.action === "agree") agreements.set(step.path, step.agreed);
    else if (step.action === "forget") agreements.delete(step.path);
    else changes.push(step);
  const of = (...actions: Step["action"][]) =>
    changes.filter(({ action }) => actions.includes(action));
  await run(
    of("skip").map((step) => failedTask(step.path, toSkipped(step))),
    1,
  );
  await run(
    of("folder").map((step) => toTask(step, () => makeFolder(step))),
    64,
  );
  const transfers = of("upload", "download", "compare", "set_aside");
  await run(
    (async function* () {
      for (const step of transfers) yield toTask(step, () => transfer(work, folderIds, step));
      work.remote.flush();
    })(),
    BATCHED_AT_ONCE,
  );
  await removeAll(work, of("delete"), run);
  return outcomes;

  async function makeFolder(step: Change): Promise<Done> {
    const { path } = step;
    if (step.action === "folder" && step.on === "local") await work.local.makeFolder(path);
    else await folderIds.open(path);
    agreements.set(path, { kind: "folder" });
    await work.save();
    const side = step.action === "folder" ? step.on : null;
    return { action: "folder", side, size: null, other_path: null };
  }
}

function toTask(step: Change, work: () => Promise<Done>): Task<Done> {
  return { item: step.path, run: work };
}

function toSkipped(step: Change): CliError {
  return new CliError("conflict", `${step.path}: ${step.action === "skip" ? step.reason : ""}`);
}

/** The ids of folders of the connection, created when they are missing. */
type FolderIds = ReturnType<typeof createFolderIds>;

function createFolderIds({ remote, scan }: Pick<Work, "remote" | "scan">) {
  const opened = new Map<string, Promise<string>>();
  const ids = {
    /** Returns the id of the folder with this path, with the folders above it. */
    open(path: string): Promise<string> {
      if (path === ".") return Promise.resolve(remote.rootId);
      const known = scan.entries.get(path);
      if (known?.kind === "folder") return Promise.resolve(known.mark.id);
      const opening =
        opened.get(path) ??
        ids.open(dirname(path)).then((parent) => remote.makeFolder(parent, nameOf(path)));
      opened.set(path, opening);
      return opening;
    },
  };
  return ids;
}

async function transfer(work: Work, folderIds: FolderIds, step: Change): Promise<Done> {
  const { local, remote } = work;
  switch (step.action) {
    case "upload":
      return upload(work, folderIds, step.path, step.local, step.remote);
    case "download": {
      const staged = await stage(work, step.path, step.remote);
      const isSame = step.local !== undefined && staged.sha256 === step.agreed?.sha256;
      if (isSame) {
        await local.discard(staged);
        return agree(work, step.path, staged.sha256, step.local as LocalEntry, step.remote);
      }
      return place(work, step.path, staged, step.remote, step.local);
    }
    case "compare":
      return compare(work, folderIds, step);
    case "set_aside": {
      const to = await toConflictName(work, step.path);
      if (step.on === "local") await local.move(step.entry, to);
      else
        await remote.move(
          step.entry,
          await folderIds.open(dirname(step.path)),
          to,
          work.scan.entries,
        );
      work.agreements.delete(step.path);
      await work.save();
      const { size } = step.entry.mark;
      return { action: "conflict", side: step.on, size, other_path: to };
    }
    default:
      throw new Error(`${step.action} is not a transfer`);
  }
}

/** Compares two files by their bytes. Of two different versions the local one gets another name, and both are kept. */
async function compare(
  work: Work,
  folderIds: FolderIds,
  { path, local: one, remote: other, agreed }: Extract<Step, { action: "compare" }>,
): Promise<Done> {
  const { local } = work;
  const staged = await stage(work, path, other);
  try {
    const sha256 = await local.hash(one);
    if (staged.sha256 === sha256) {
      await local.discard(staged);
      return await agree(work, path, sha256, one, other);
    }
    if (staged.sha256 === agreed?.sha256) {
      await local.discard(staged);
      return await upload(work, folderIds, path, one, other);
    }
    if (sha256 === agreed?.sha256) return await place(work, path, staged, other, one);
    const aside = await toConflictName(work, path);
    const moved = await local.move(one, aside);
    await place(work, path, staged, other, undefined);
    await upload(work, folderIds, aside.normalize("NFC"), moved, undefined);
    return { action: "conflict", side: null, size: moved.mark.size, other_path: aside };
  } catch (error) {
    await local.discard(staged);
    throw error;
  }
}

async function stage({ local, remote }: Work, path: string, entry: RemoteEntry): Promise<Staged> {
  return local.stage(path, (append) => remote.download(entry, append));
}

async function upload(
  work: Work,
  folderIds: FolderIds,
  path: string,
  one: LocalEntry,
  other: RemoteEntry | undefined,
): Promise<Done> {
  const { remote } = work;
  const stored: Stored =
    other === undefined
      ? await remote.upload(one, await folderIds.open(dirname(path)), nameOf(path))
      : await remote.replace(one, other);
  await record(work, path, stored.sha256, one, stored.mark);
  return { action: "upload", side: "remote", size: one.mark.size, other_path: null };
}

async function place(
  work: Work,
  path: string,
  staged: Staged,
  { mark }: RemoteEntry,
  replaced: LocalEntry | undefined,
): Promise<Done> {
  const placed = await work.local.place(staged, replaced?.path ?? path, replaced);
  await record(work, path, staged.sha256, placed, mark);
  return { action: "download", side: "local", size: placed.mark.size, other_path: null };
}

async function agree(
  work: Work,
  path: string,
  sha256: string,
  one: LocalEntry,
  { mark }: RemoteEntry,
): Promise<Done> {
  await record(work, path, sha256, one, mark);
  return { action: "skip", side: null, size: one.mark.size, other_path: null };
}

async function record(
  { cli, agreements, save }: Work,
  path: string,
  sha256: string,
  { mark }: LocalEntry,
  remote: Stored["mark"],
): Promise<void> {
  const agreed: Agreed = { kind: "file", sha256, local: mark, localSeenAt: cli.clock(), remote };
  agreements.set(path, agreed);
  await save();
}

/** Deletes files, then folders from the deepest up. A folder of the connection goes with its content in one request. */
async function removeAll(
  work: Work,
  deletions: readonly Change[],
  run: (tasks: Iterable<Task<Done>>, atOnce: number) => Promise<void>,
): Promise<void> {
  const { local, remote, scan, agreements, save } = work;
  const steps = deletions.filter((step) => step.action === "delete");
  const wholes = new Set<string>();
  for (const { path, on, entry } of steps)
    if (on === "remote" && entry.kind === "folder" && !isAtOrBelow(path, wholes)) wholes.add(path);
  const isSingle = ({ path, on }: (typeof steps)[number]) =>
    on === "local" || wholes.has(path) || !isAtOrBelow(path, wholes);
  const remove = async (step: (typeof steps)[number]): Promise<Done> => {
    const { path, on, entry } = step;
    const done: Done = { action: "delete", side: on, size: entry.mark.size, other_path: null };
    if (on === "local" && entry.kind === "file") await local.removeFile(step.entry);
    else if (on === "local") {
      if (!(await local.removeFolder(step.entry)))
        throw new CliError("conflict", `${path} is not empty here, so it stays`);
    } else if (entry.kind === "file") await remote.removeFile(step.entry);
    else await remote.removeFolder(path, step.entry, scan);
    const isWhole = on === "remote" && entry.kind === "folder";
    for (const known of isWhole ? [...agreements.keys()] : [path])
      if (known === path || known.startsWith(`${path}/`)) agreements.delete(known);
    await save();
    return done;
  };
  const single = steps.filter(isSingle);
  const tasks = (kind: "file" | "folder") =>
    single
      .filter(({ entry }) => entry.kind === kind)
      .map((step): Task<Done> => ({ item: step.path, run: () => remove(step) }));
  await run(tasks("file"), 4);
  await run(tasks("folder").toReversed(), 1);
}

/** Moves what was renamed at the other side. Returns the moves that this side cannot follow: they become copies. */
export async function carryOutMoves(
  work: Work,
  moves: readonly Move[],
  entriesOf: (move: Move) => LocalEntry | RemoteEntry | undefined,
): Promise<{ readonly moved: readonly Move[]; readonly refused: readonly Move[] }> {
  const folderIds = createFolderIds(work);
  const moved: Move[] = [];
  const refused: Move[] = [];
  for (const move of moves) {
    const entry = entriesOf(move);
    try {
      if (entry === undefined) throw changedMeanwhile(move.from);
      if (move.on === "local") {
        await work.local.makeFolder(dirname(move.to));
        await work.local.move(entry as LocalEntry, move.to);
      } else
        await work.remote.move(
          entry as RemoteEntry,
          await folderIds.open(dirname(move.to)),
          move.to,
          work.scan.entries,
        );
      moved.push(move);
    } catch (error) {
      if (!isRefusal(toCliError(error))) throw error;
      refused.push(move);
    }
  }
  return { moved, refused };
}

/** Whether a failure concerns this move only: a copy and a deletion may succeed. */
function isRefusal({ code }: CliError): boolean {
  const refusals = ["stale", "conflict", "name_collision", "unsupported", "invalid_destination"];
  return [...refusals, "invalid", "file_error", "provider_failed", "not_found"].includes(code);
}

/** `report (conflict 2026-11-28 laptop).txt`, with a number if that name is taken. */
async function toConflictName({ local, scan, mark }: Work, path: string): Promise<string> {
  const name = nameOf(path);
  const dot = name.lastIndexOf(".");
  const end = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : "";
  const above = path.slice(0, path.length - name.length);
  for (let count = 1; ; count++) {
    const suffix = ` (conflict ${mark}${count === 1 ? "" : ` ${count}`})${end}`;
    const stem = cut(name.slice(0, name.length - end.length), 255 - Buffer.byteLength(suffix));
    const to = `${above}${stem}${suffix}`;
    if (scan.entries.has(to) || scan.blocked.has(to)) continue;
    const isFree = await local.assertVersion(to, undefined).then(
      () => true,
      (error: unknown) => {
        if (toCliError(error).code !== "stale") throw error;
        return false;
      },
    );
    if (isFree) return to;
  }
}

/** The start of a text that fits into so many bytes. */
function cut(text: string, bytesMax: number): string {
  let start = "";
  for (const character of text) {
    if (Buffer.byteLength(start + character) > bytesMax) break;
    start += character;
  }
  return start;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
