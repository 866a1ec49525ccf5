import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import type { WireItem } from "../../../support/items.ts";
import { createFolderListings } from "./remote-folders.ts";
import { createFileNames } from "./local-files.ts";
import { COARSE_TIME_MS, BATCHED_AT_ONCE } from "./transfer.ts";
import { failedTask, type Outcome, runTasks, type Task } from "../../../support/batch.ts";

/** One file or folder below a synchronized folder. */
export interface TreeEntry {
  /** Relative path with slashes, with the names of its own side. */
  readonly path: string;
  readonly kind: "file" | "folder" | "other";
  readonly size: number | null;
  /** Epoch milliseconds; undefined when unknown. */
  readonly modifiedAt: number | undefined;
  readonly item?: WireItem;
}

/** Entries by their path with local names, parents before their content. */
export type Tree = ReadonlyMap<string, TreeEntry>;

/** The action for one path. */
export interface SyncStep {
  /**
   * `folder`: create it. `copy`: the target lacks it. `replace`: it differs. `delete`: the source lacks it. `keep`:
   * equal.
   */
  readonly action: "folder" | "copy" | "replace" | "delete" | "keep" | "conflict";
  readonly path: string;
  readonly source?: TreeEntry | undefined;
  readonly target?: TreeEntry | undefined;
}

/** A folder of a connection that is synchronized. */
export interface SyncedFolder {
  readonly connectionId: string;
  /** Empty for the top. */
  readonly id: string;
}

/** Executes steps on the target side. */
export interface SyncSide {
  /** Creates a folder; its parent exists, or its creation was started before. Uses an existing folder. */
  makeFolder(step: SyncStep): Promise<void>;
  /** Transfers a file: creates it, or replaces the version that the plan is based on. Returns its size. */
  copy(step: SyncStep): Promise<number>;
  delete(step: SyncStep): Promise<void>;
  /** Called when all copies have been started. */
  flush(): void;
}

/** Reads everything below a local folder. Links and devices are `other`: they are neither followed nor copied. */
export async function readLocalTree(root: string): Promise<Tree> {
  const tree = new Map<string, TreeEntry>();
  await walk("");
  return tree;

  async function walk(above: string): Promise<void> {
    const entries = await readdir(join(root, above), { withFileTypes: true });
    for (const { name } of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
      const path = above === "" ? name : `${above}/${name}`;
      const stats = await lstat(join(root, path));
      const kind = stats.isDirectory() ? "folder" : stats.isFile() ? "file" : "other";
      const size = kind === "file" ? stats.size : null;
      tree.set(toKey(path), { path, kind, size, modifiedAt: stats.mtimeMs });
      if (kind === "folder") await walk(path);
    }
  }
}

/**
 * Lists everything below a folder of a connection at the provider. The keys of the tree have local names for
 * `platform`, as a download would choose them. @throws CliError when a folder cannot be listed, because the tree would
 * be incomplete
 */
export async function readRemoteTree(
  cli: CliContext,
  { connectionId, id: rootId }: SyncedFolder,
  platform: string = cli.system.platform,
): Promise<Tree> {
  const tree = new Map<string, TreeEntry>();
  const listings = createFolderListings(cli, connectionId, { refresh: true });
  await walk(rootId, "", "", [rootId]);
  return tree;

  async function walk(
    id: string,
    above: string,
    localAbove: string,
    ids: readonly string[],
  ): Promise<void> {
    const { items, failure } = await listings.read(id);
    if (failure !== undefined) throw failure;
    const names = createFileNames(platform).takeAll(items.map(({ name }) => name));
    for (const [index, item] of items.entries()) {
      const { name, kind, size, provider_item_id: itemId } = item;
      const path = above === "" ? name : `${above}/${name}`;
      const local = localAbove === "" ? (names[index] ?? "_") : `${localAbove}/${names[index]}`;
      const time = Date.parse(item.modified_at ?? "");
      const modifiedAt = Number.isNaN(time) ? undefined : time;
      tree.set(toKey(local), { path, kind, size, modifiedAt, item });
      if (kind === "folder" && ids.includes(itemId))
        throw new CliError("unsupported", `${path} contains itself`);
      if (kind === "folder") await walk(itemId, path, local, [...ids, itemId]);
    }
  }
}

/**
 * Compares two trees and returns the steps that make the target match the source. Files are the same by size and
 * time. Deletions come last, content before its folder. A folder that is deleted with its content is one step.
 */
export function planSync(source: Tree, target: Tree, deletes: boolean): readonly SyncStep[] {
  const steps: SyncStep[] = [];
  for (const [path, one] of source) {
    const there = target.get(path);
    if (one.kind === "other") continue;
    if (there !== undefined && there.kind !== one.kind)
      steps.push({ action: "conflict", path, source: one, target: there });
    else if (there === undefined)
      steps.push({ action: one.kind === "folder" ? "folder" : "copy", path, source: one });
    else if (one.kind === "file") {
      const action = isSame(one, there) ? "keep" : "replace";
      steps.push({ action, path, source: one, target: there });
    }
  }
  if (!deletes) return steps;
  const gone = [...target].filter(([path, { kind }]) => kind !== "other" && !source.has(path));
  const folders = new Set<string>();
  for (const [path, one] of gone) {
    if (isBelow(path, folders)) continue;
    if (one.kind === "folder") folders.add(path);
    steps.push({ action: "delete", path, target: one });
  }
  return steps;
}

/** Whether a file is a copy of another one, by its size and by a time that is no earlier. */
function isSame(source: TreeEntry, target: TreeEntry): boolean {
  if (source.size !== target.size) return false;
  if (source.modifiedAt === undefined || target.modifiedAt === undefined) return true;
  return target.modifiedAt + COARSE_TIME_MS >= source.modifiedAt;
}

function isBelow(path: string, folders: ReadonlySet<string>): boolean {
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1))
    if (folders.has(path.slice(0, at))) return true;
  return false;
}

/** The vault stores names in NFC, disks in any normalization. */
function toKey(path: string): string {
  return path.normalize("NFC");
}

/** The outcome of one step. */
export interface Done {
  readonly action: SyncStep["action"];
  readonly size: number | null;
}

/** Folders that wait for their creation. */
const FOLDERS_AT_ONCE = 256;

/**
 * Runs folder tasks first, parents before their content, then file tasks in parallel. Items below a failed folder
 * fail with it.
 */
export async function carryOut(
  side: SyncSide,
  steps: readonly SyncStep[],
): Promise<Outcome<Done>[]> {
  const outcomes: Outcome<Done>[] = [];
  const broken = steps.filter(({ action }) => action === "conflict").map(({ path }) => path);
  const isBroken = (path: string) => broken.some((above) => path.startsWith(`${above}/`));
  const folders = steps
    .filter(({ action, path }) => (action === "folder" || action === "conflict") && !isBroken(path))
    .map((step) =>
      step.action === "folder"
        ? toTask(step, () => side.makeFolder(step))
        : failedTask(step.path, toConflict(step)),
    );
  for (const outcome of await runTasks<Done>(folders, FOLDERS_AT_ONCE)) {
    if (isBroken(outcome.item)) continue;
    if (outcome.failure !== undefined) broken.push(outcome.item);
    outcomes.push(outcome);
  }
  const files = steps.filter(({ action }) => action === "copy" || action === "replace");
  const tasks = async function* (): AsyncGenerator<Task<Done>> {
    for (const step of files)
      yield isBroken(step.path)
        ? failedTask(step.path, new CliError("conflict", "the folder above it is missing"))
        : toTask(step, () => side.copy(step));
    side.flush();
  };
  outcomes.push(...(await runTasks(tasks(), BATCHED_AT_ONCE)));
  return outcomes;
}

export function toTask(step: SyncStep, work: () => Promise<number | void>): Task<Done> {
  return {
    item: step.path,
    run: async () => ({ action: step.action, size: (await work()) ?? null }),
  };
}

function toConflict({ path, source, target }: SyncStep): CliError {
  const kind = target?.kind === "other" ? "a link or device" : `a ${target?.kind}`;
  return new CliError("conflict", `${path} is ${kind} in the target and a ${source?.kind} here`);
}
