import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import type { WireItem } from "../../../support/items.ts";
import { createFolderListings } from "./remote-folders.ts";
import { createFileNames, partSuffix } from "../../../support/file-names.ts";
import { COARSE_TIME_MS, BATCHED_AT_ONCE } from "./transfer.ts";
import { failedTask, type Outcome, runTasks, type Task } from "../../../support/batch.ts";
import { IGNORE_BYTES_MAX, IGNORE_FILE, type SyncFilter } from "./sync-filter.ts";
import { readRemoteText } from "./receive-file.ts";

/** One file or folder below a synchronized folder. */
export interface TreeEntry {
  /** Relative path with slashes, with the names of its own side. */
  readonly path: string;
  readonly kind: "file" | "folder" | "other";
  readonly size: number | null;
  /** Epoch milliseconds; undefined when unknown. */
  readonly modifiedAt: number | undefined;
  readonly item?: WireItem;
  /** Paths that differ from this one only in their Unicode normalization. What is below them is not read. */
  readonly twins?: readonly string[];
  /** The folder contains something that the filter leaves out, so it must not be deleted as a whole. */
  readonly holdsIgnored?: true;
}

/** What leaves out a part of a tree, and whose rules the files of this tree add to. */
export interface TreeFilter {
  readonly filter: SyncFilter;
  readonly side: "one" | "other";
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
  /** Of a conflict: the path whose name differs from this one only in its Unicode normalization. */
  readonly twinOf?: string;
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

/**
 * Reads everything below a local folder. Links, devices and the part files of interrupted downloads are `other`: they are
 * neither followed nor copied.
 */
export async function readLocalTree(root: string, filtered?: TreeFilter): Promise<Tree> {
  const tree = new Map<string, TreeEntry>();
  await walk("");
  return tree;

  async function walk(above: string): Promise<void> {
    const entries = await readdir(join(root, above), { withFileTypes: true });
    if (filtered !== undefined && entries.some((one) => one.name === IGNORE_FILE && one.isFile()))
      filtered.filter.addRules(
        filtered.side,
        above,
        await readFile(join(root, above, IGNORE_FILE), "utf8"),
      );
    for (const { name } of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
      const path = above === "" ? name : `${above}/${name}`;
      const entry = await readLocalEntry(join(root, path), path);
      if (isLeftOut(tree, path, entry, filtered)) continue;
      if (addEntry(tree, path, entry) && entry.kind === "folder") await walk(path);
    }
  }
}

/** Whether the filter leaves an entry out. Marks the folders above it then. */
function isLeftOut(
  tree: Map<string, TreeEntry>,
  local: string,
  { kind }: TreeEntry,
  filtered: Pick<TreeFilter, "filter"> | undefined,
): boolean {
  const key = toKey(local);
  if (filtered?.filter.isIgnored(key, kind === "folder") !== true) return false;
  for (let at = key.lastIndexOf("/"); at > 0; at = key.lastIndexOf("/", at - 1)) {
    const above = tree.get(key.slice(0, at));
    if (above !== undefined) tree.set(key.slice(0, at), { ...above, holdsIgnored: true });
  }
  return true;
}

/** Returns the tree without what the filter leaves out, which has the rules of both sides now. */
export function withoutIgnored(tree: Tree, filter: SyncFilter): Tree {
  const kept = new Map<string, TreeEntry>();
  const leftOut = new Set<string>();
  for (const [path, entry] of tree) {
    if (isBelow(path, leftOut)) continue;
    if (isLeftOut(kept, path, entry, { filter })) leftOut.add(path);
    else kept.set(path, entry);
  }
  return kept;
}

/** Reads one local file or folder. `path` is its path in the tree. */
export async function readLocalEntry(at: string, path: string): Promise<TreeEntry> {
  const stats = await lstat(at);
  const isCopied = stats.isFile() && !at.endsWith(partSuffix);
  const kind = stats.isDirectory() ? "folder" : isCopied ? "file" : "other";
  return { path, kind, size: kind === "file" ? stats.size : null, modifiedAt: stats.mtimeMs };
}

/**
 * Adds an entry under its local path. The first of several names that differ only in their Unicode normalization is the
 * entry, the others are its twins; returns false for these.
 */
function addEntry(tree: Map<string, TreeEntry>, local: string, entry: TreeEntry): boolean {
  const key = toKey(local);
  const first = tree.get(key);
  if (first === undefined) tree.set(key, entry);
  else tree.set(key, { ...first, twins: [...(first.twins ?? []), entry.path] });
  return first === undefined;
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
  filtered?: TreeFilter,
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
    const rules = items.find(({ name, kind }) => name === IGNORE_FILE && kind === "file");
    if (filtered !== undefined && rules !== undefined) {
      const params = { connection_id: connectionId, item_id: rules.provider_item_id };
      const text = await readRemoteText(cli, { params, name: IGNORE_FILE }, IGNORE_BYTES_MAX);
      filtered.filter.addRules(filtered.side, localAbove, text);
    }
    const names = createFileNames(platform).takeAll(items.map(({ name }) => name));
    for (const [index, item] of items.entries()) {
      const { name, kind, size, provider_item_id: itemId } = item;
      const path = above === "" ? name : `${above}/${name}`;
      const local = localAbove === "" ? (names[index] ?? "_") : `${localAbove}/${names[index]}`;
      const time = Date.parse(item.modified_at ?? "");
      const modifiedAt = Number.isNaN(time) ? undefined : time;
      const entry: TreeEntry = { path, kind, size, modifiedAt, item };
      if (isLeftOut(tree, local, entry, filtered)) continue;
      const isNew = addEntry(tree, local, entry);
      if (kind === "folder" && ids.includes(itemId))
        throw new CliError("unsupported", `${path} contains itself`);
      if (kind === "folder" && isNew) await walk(itemId, path, local, [...ids, itemId]);
    }
  }
}

/**
 * Compares two trees and returns the steps that make the target match the source. Files are the same by size and
 * time. Deletions come last, content before its folder. A folder that is deleted with its content is one step; one that
 * holds ignored files stays. Of names
 * that differ only in their Unicode normalization, one is copied and the others are conflicts; in the target all are.
 */
export function planSync(source: Tree, target: Tree, deletes: boolean): readonly SyncStep[] {
  const steps: SyncStep[] = [];
  for (const [path, one] of source) {
    const there = target.get(path);
    for (const twin of one.twins ?? [])
      steps.push({ action: "conflict", path: twin, source: one, twinOf: one.path });
    if (one.kind === "other") continue;
    if (there?.twins !== undefined)
      steps.push({ action: "conflict", path, source: one, target: there });
    else if (there !== undefined && there.kind !== one.kind)
      steps.push({ action: "conflict", path, source: one, target: there });
    else if (there === undefined)
      steps.push({ action: one.kind === "folder" ? "folder" : "copy", path, source: one });
    else if (one.kind === "file") {
      const action = isSame(one, there) ? "keep" : "replace";
      steps.push({ action, path, source: one, target: there });
    }
  }
  if (!deletes) return steps;
  const gone = [...target].filter(
    ([path, { kind, twins }]) => kind !== "other" && twins === undefined && !source.has(path),
  );
  const folders = new Set<string>();
  for (const [path, one] of gone) {
    if (isBelow(path, folders) || one.holdsIgnored === true) continue;
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
  const isTwin = ({ twinOf }: SyncStep) => twinOf !== undefined;
  // The content of its twin is copied, so a twin breaks nothing below its path.
  const twins = steps.filter(isTwin).map((step) => failedTask(step.path, toConflict(step)));
  const outcomes: Outcome<Done>[] = [...(await runTasks<Done>(twins, 1))];
  const broken = steps
    .filter((step) => step.action === "conflict" && !isTwin(step))
    .map(({ path }) => path);
  const isBroken = (path: string) => broken.some((above) => path.startsWith(`${above}/`));
  const folders = steps
    .filter((step) => step.action === "folder" || (step.action === "conflict" && !isTwin(step)))
    .filter(({ path }) => !isBroken(path))
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
  return [...outcomes, ...(await runTasks(tasks(), BATCHED_AT_ONCE))];
}

export function toTask(step: SyncStep, work: () => Promise<number | void>): Task<Done> {
  return {
    item: step.path,
    run: async () => ({ action: step.action, size: (await work()) ?? null }),
  };
}

function toConflict({ path, source, target, twinOf }: SyncStep): CliError {
  const twin = twinOf ?? target?.twins?.[0];
  if (twin !== undefined)
    return new CliError(
      "conflict",
      `${path} and another name, ${toCodePoints(twin)}, differ only in their Unicode form`,
      { hint: "rename one of the two" },
    );
  const kind = target?.kind === "other" ? "a link or device" : `a ${target?.kind}`;
  return new CliError("conflict", `${path} is ${kind} in the target and a ${source?.kind} here`);
}

/** A text with all characters outside ASCII as code points, because two forms of one name look the same. */
function toCodePoints(text: string): string {
  return text.replaceAll(
    /[^\x20-\x7e]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Whether the tree of a folder, `now`, has what the tree `before` has below the path `above`: no entry more, none changed. */
export function isUnchanged(before: Tree, above: string, now: Tree): boolean {
  const prefix = above === "" ? "" : `${above}/`;
  const seen = [...before].filter(([path]) => path.startsWith(prefix));
  return (
    seen.length === now.size &&
    seen.every(([path, entry]) => isSameEntry(entry, now.get(path.slice(prefix.length))))
  );
}

/** Whether an entry is the one that was seen before: the same item, and of a file the same version. */
export function isSameEntry(before: TreeEntry, now: TreeEntry | undefined): boolean {
  if (now === undefined || before.kind !== now.kind) return false;
  if (before.twins?.length !== now.twins?.length) return false;
  if (before.item?.provider_item_id !== now.item?.provider_item_id) return false;
  const hasSameBytes =
    before.item?.etag === now.item?.etag &&
    before.size === now.size &&
    before.modifiedAt === now.modifiedAt;
  // The time of a folder changes with its content.
  return before.kind === "folder" || hasSameBytes;
}
