import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, DryRun } from "../../../errors.ts";
import type { Progress } from "../../../output/progress.ts";
import { failedTask, type Outcome, runTasks, type Task } from "../../../support/batch.ts";
import {
  toItemAddress,
  type FoundItem,
  type ItemFinder,
  type WireItem,
} from "../../../support/items.ts";
import { findSource, isFolder, readFolder } from "./lookup.ts";
import {
  planSync,
  readRemoteTree,
  type SyncedFolder,
  type SyncStep,
  type Tree,
  carryOut,
} from "./sync-plan.ts";
import { createRemoteOrigin } from "./remote-origin.ts";
import { createRemoteSide } from "./sync-sides.ts";
import type { Retries } from "./transfer.ts";

/** Copies between connections need no names that are safe on a local disk. */
export const PLATFORM = "linux";

/** The copy of one folder into another one, under its name. */
export interface TreeCopy {
  /** Its name on the command line. */
  readonly word: string;
  readonly source: SyncedFolder;
  /** Of the source folder itself; null when its storage has no etags of folders. */
  readonly etag: string | null;
  readonly sourceTree: Tree;
  /** The destination folder. */
  readonly target: SyncedFolder;
  readonly targetTree: Tree;
  /** Undefined when it exists. */
  readonly newFolder: string | undefined;
  /** Folders before their content. */
  readonly steps: readonly SyncStep[];
}

/** The outcome of one file or folder. */
export interface Copied {
  readonly action: SyncStep["action"];
  readonly provider_item_id: string | null;
  readonly size: number | null;
  readonly skipped: string | null;
}

/**
 * Plans the copies of those items that are folders, of other connections only with `isAcross`. `files` are the other items;
 * `failed` those whose folder cannot be copied. An item that cannot be looked up counts as a file, whose task reports why.
 */
export async function planTrees(
  cli: CliContext,
  finder: ItemFinder,
  words: readonly string[],
  target: FoundItem,
  isAcross: boolean,
): Promise<{
  readonly plans: readonly TreeCopy[];
  readonly files: readonly string[];
  readonly failed: readonly Task<never>[];
}> {
  const plans: TreeCopy[] = [];
  const files: string[] = [];
  const failed: Task<never>[] = [];
  for (const word of words) {
    const found = await finder.find(toItemAddress(word)).catch(() => undefined);
    const isCandidate =
      found !== undefined && (!isAcross || found.connection.id !== target.connection.id);
    const source = isCandidate ? await findSource(cli, finder, toItemAddress(word)) : undefined;
    if (source === undefined || !isFolder(source)) {
      files.push(word);
      continue;
    }
    try {
      plans.push(await planTreeCopy(cli, word, source, target));
    } catch (error) {
      if (words.length === 1) throw error;
      failed.push(failedTask(word, error));
    }
  }
  return { plans, files, failed };
}

/**
 * Reads a folder and its target, and plans the copy. Skips a file that the target has with the same size and no
 * earlier time, so a second run resumes an interrupted copy.
 * @throws CliError when a folder cannot be listed, or would be copied into itself
 */
async function planTreeCopy(
  cli: CliContext,
  word: string,
  { connection, id, item }: FoundItem,
  target: FoundItem,
): Promise<TreeCopy> {
  const source = { connectionId: connection.id, id };
  const sourceTree = await readRemoteTree(cli, source, PLATFORM);
  const isInside =
    connection.id === target.connection.id &&
    (id === target.id ||
      id === "" ||
      [...sourceTree.values()].some((entry) => entry.item?.provider_item_id === target.id));
  if (isInside) throw new CliError("invalid_destination", `${word} would be copied into itself`);
  const parent = { connectionId: target.connection.id, id: target.id };
  // The root of a connection has no name: its items go directly into the target.
  const name = item?.name;
  const there = name === undefined ? undefined : await findIn(cli, parent, name);
  if (there?.kind === "file")
    throw new CliError("name_collision", `${name} is a file in the target`);
  if (connection.id === target.connection.id && there?.provider_item_id === id)
    throw new CliError("invalid_destination", `${word} is in that folder already`);
  const isNew = name !== undefined && there === undefined;
  const into = there === undefined ? parent : { ...parent, id: there.provider_item_id };
  const targetTree: Tree = isNew ? new Map() : await readRemoteTree(cli, into, PLATFORM);
  const steps = planSync(sourceTree, targetTree, false);
  const newFolder = isNew ? name : undefined;
  const etag = item?.etag ?? null;
  return { word, source, etag, sourceTree, target: into, targetTree, newFolder, steps };
}

/** Reports the files to copy to the progress. */
export function expectTree(progress: Progress, { steps }: TreeCopy): void {
  for (const { action, source } of steps)
    if (action === "copy") progress.expect(source?.size ?? null);
}

/** The result of an executed plan. */
export interface CopiedTree {
  readonly outcomes: readonly Outcome<Copied>[];
  readonly target: SyncedFolder;
  /** The ids of the new copies, by path. */
  readonly copies: ReadonlyMap<string, string>;
  /** The SHA-256 of the originals that were read, by id. */
  readonly hashes: ReadonlyMap<string, string>;
}

/** Executes a plan. Never overwrites. */
export async function copyTree(
  retries: Retries,
  progress: Progress,
  plan: TreeCopy,
): Promise<CopiedTree> {
  const { steps, targetTree } = plan;
  const target = await makeTarget(retries.cli, plan);
  const origin = createRemoteOrigin(retries, plan.source);
  const copies = new Map<string, string>();
  const side = createRemoteSide(
    retries,
    progress,
    target,
    origin,
    { tree: targetTree, platform: PLATFORM },
    (step, { provider_item_id: id }) => copies.set(step.path, id),
  );
  const isDone = ({ action }: SyncStep) => action === "keep" || action === "replace";
  const done = await carryOut(
    side,
    steps.filter((step) => !isDone(step)),
  );
  const skipped = await runTasks(
    steps.filter(isDone).map((step) => toSkipped(step)),
    1,
  );
  const outcomes = [...done, ...skipped].map(({ item, value, failure }): Outcome<Copied> => ({
    item: toAddress(plan, item),
    failure,
    value: value && {
      action: value.action,
      size: value.size,
      provider_item_id: copies.get(item) ?? targetTree.get(item)?.item?.provider_item_id ?? null,
      skipped: value.action === "keep" ? "same" : null,
    },
  }));
  return { outcomes, target, copies, hashes: origin.hashes };
}

/** The address of a path below the copied folder. */
export function toAddress({ word }: TreeCopy, path: string): string {
  return `${word.replace(/\/$/, "")}/${path}`;
}

/** The plan of `--dry-run`. */
export function toCopyPlan(plans: readonly TreeCopy[], files: readonly string[]): DryRun {
  const ofTree = (plan: TreeCopy) => [
    ...(plan.newFolder === undefined ? [] : [{ action: "folder", path: plan.word, size: null }]),
    ...plan.steps
      .filter(({ action }) => action !== "keep")
      .map(({ action, path, source }) => ({
        // Never overwrites.
        action: action === "replace" ? "conflict" : action,
        path: toAddress(plan, path),
        size: source?.size ?? null,
      })),
  ];
  return new DryRun({
    plan: [
      ...files.map((path) => ({ action: "copy", path, size: null })),
      ...plans.flatMap(ofTree),
    ],
  });
}

/** Returns the outcome of a skipped file: equal ones need no copy, different ones are not overwritten. */
function toSkipped(
  step: SyncStep,
): Task<{ readonly action: SyncStep["action"]; readonly size: number | null }> {
  const { action, path, source } = step;
  if (action === "keep")
    return { item: path, run: async () => ({ action, size: source?.size ?? null }) };
  return failedTask(
    path,
    new CliError("name_collision", `${path} exists in the target and differs`, {
      hint: '"croft vault item sync" replaces files that differ',
    }),
  );
}

async function makeTarget(cli: CliContext, { target, newFolder }: TreeCopy): Promise<SyncedFolder> {
  if (newFolder === undefined) return target;
  const { body } = await cli.client.call(vault.createFolder, {
    params: { connection_id: target.connectionId },
    body: { parent_ref: target.id, name: newFolder },
  });
  if (body.kind !== "folder")
    throw new CliError("unsupported", "the target storage has no folders");
  if (body.name.normalize("NFC") !== newFolder.normalize("NFC"))
    throw new CliError("name_collision", `another client created ${newFolder} meanwhile`);
  return { ...target, id: body.provider_item_id };
}

async function findIn(
  cli: CliContext,
  { connectionId, id }: SyncedFolder,
  name: string,
): Promise<WireItem | undefined> {
  const { items, failure } = await readFolder(cli, connectionId, id, true);
  if (failure !== undefined) throw failure;
  return items.find((item) => item.name.normalize("NFC") === name.normalize("NFC"));
}
