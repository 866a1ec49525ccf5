import { mkdir, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, DryRun, usageError } from "../../../errors.ts";
import { size, toSizeText } from "../../../output/cells.ts";
import { shapeList } from "../../../output/spec.ts";
import {
  failedTask,
  finishBatch,
  type Outcome,
  resultFields,
  runTasks,
  type Task,
} from "../../../support/batch.ts";
import { createItemFinder } from "../../../support/find-item.ts";
import { toItemAddress } from "../../../support/item-address.ts";
import type { CommandModule } from "../../../tree/entry.ts";
import { findFolder } from "./lookup.ts";
import { createLocalSide } from "./sync-local.ts";
import {
  planSync,
  readLocalTree,
  readRemoteTree,
  type SyncedFolder,
  type SyncSide,
  type SyncStep,
} from "./sync-plan.ts";
import { createRemoteSide } from "./sync-remote.ts";
import { BATCHED_AT_ONCE, createRetries } from "./transfer.ts";

export interface ItemSyncOptions {
  readonly source: string;
  readonly target: string;
  /** Delete what the source does not have. */
  readonly deletes: boolean;
}

export const sync = {
  operations: [
    vault.listConnections,
    vault.listItems,
    vault.getItemDetail,
    vault.createFolder,
    vault.uploadItem,
    vault.uploadBatch,
    vault.replaceContent,
    vault.downloadItem,
    vault.downloadBatch,
    vault.deleteItem,
  ],
  output: shapeList({ ...resultFields, action: "string?", size: "integer?" }),
  completions: { source: "transfers", target: "transfers" },
  destructive: true,
  define(command, cli, run = runItemSync): void {
    command
      .argument("<source>", "a local folder, or CONNECTION:/path")
      .argument("<target>", "the other one: what is in the source is copied into it")
      .option("--delete", "delete in the target what the source does not have")
      .action((source: string, target: string, flags: { readonly delete?: true }) =>
        run(cli, { source, target, deletes: flags.delete === true }),
      );
  },
} satisfies CommandModule;

/**
 * Makes a folder the same as another one, in one direction: copies missing files, replaces those that differ in size or are
 * older, and with `--delete` deletes the others at last, if everything before went well. The plan is made before anything
 * is changed.
 */
async function runItemSync(
  cli: CliContext,
  { source, target, deletes }: ItemSyncOptions,
): Promise<void> {
  const isUp = !isRemote(source) && isRemote(target);
  if (!isUp && !(isRemote(source) && !isRemote(target)))
    throw usageError(
      "one of the two is a local folder, the other one CONNECTION:/path",
      '"croft vault item copy" copies between connections',
    );
  const progress = await cli.progress();
  const retries = createRetries(cli, progress);
  const remote = await openRemote(retries.cli, isUp ? target : source);
  const local = resolve(cli.system.workingDirectory, isUp ? source : target);
  await assertLocal(local, isUp ? source : target, isUp);
  const remoteTree = await readRemoteTree(retries.cli, remote.connectionId, remote.id);
  const localTree = await readLocalTree(local).catch((error: NodeJS.ErrnoException) => {
    if (!isUp && error.code === "ENOENT") return new Map<string, never>();
    throw new CliError("file_error", `${local}: ${error.message}`, { cause: error });
  });
  const steps = isUp
    ? planSync("local", localTree, remoteTree, deletes)
    : planSync("remote", remoteTree, localTree, deletes);
  const deletions = steps.filter(({ action }) => action === "delete");
  const changes = steps.filter(({ action }) => action !== "delete" && action !== "keep");
  if (cli.flags.dryRun)
    throw new DryRun({
      plan: [...changes, ...deletions].map(({ action, path, source: from, target: to }) => ({
        action,
        path,
        size: (from ?? to)?.size ?? null,
      })),
    });
  if (!cli.output.isMachine) cli.io.note(toPlanText(steps));
  if (deletions.length > 0)
    await cli.prompts.confirm(`Delete ${deletions.length} in ${isUp ? target : source}?`);
  if (!isUp && changes.length > 0) await mkdir(local, { recursive: true });
  const side = isUp
    ? createRemoteSide(retries, progress, remote, local, remoteTree)
    : createLocalSide(retries, progress, remote, local);
  for (const { action, source: from } of changes)
    if (action === "copy" || action === "replace") progress.expect(from?.size ?? null);
  progress.expectNoMore();
  const outcomes = await carryOut(side, changes).finally(() => progress.finish());
  const failed = outcomes.filter(({ failure }) => failure !== undefined).length;
  // A source that could not be read whole must not cost what the target has.
  if (failed === 0)
    outcomes.push(
      ...(await runTasks(
        deletions.map((step) => toTask(step, () => side.delete(step))),
        4,
      )),
    );
  else if (deletions.length > 0)
    cli.io.note("Nothing was deleted, because not everything could be copied.");
  await finishBatch<Done>(cli, outcomes, "synchronized", [
    { header: "action", cell: ({ action }) => action },
    { header: "path", cell: ({ item }) => item },
    { header: "size", cell: (one) => size(one.size) },
    { header: "error", cell: ({ error }) => error?.message },
  ]);
}

interface Done {
  readonly action: SyncStep["action"];
  readonly size: number | null;
}

/** Folders first, in their order; then files, many at one time. What is below a failed folder fails with it. */
async function carryOut(side: SyncSide, steps: readonly SyncStep[]): Promise<Outcome<Done>[]> {
  const outcomes: Outcome<Done>[] = [];
  const broken: string[] = [];
  const isBroken = (path: string) => broken.some((above) => path.startsWith(`${above}/`));
  for (const step of steps.filter(({ action }) => action === "folder" || action === "conflict")) {
    if (isBroken(step.path)) continue;
    const task =
      step.action === "folder"
        ? toTask(step, () => side.makeFolder(step))
        : failedTask(step.path, toConflict(step));
    const [outcome] = await runTasks<Done>([task], 1);
    if (outcome?.failure !== undefined) broken.push(step.path);
    if (outcome !== undefined) outcomes.push(outcome);
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

function toTask(step: SyncStep, work: () => Promise<number | void>): Task<Done> {
  return {
    item: step.path,
    run: async () => ({ action: step.action, size: (await work()) ?? null }),
  };
}

function toConflict({ path, source, target }: SyncStep): CliError {
  const what = target?.kind === "other" ? "a link or device" : `a ${target?.kind}`;
  return new CliError("conflict", `${path} is ${what} in the target and a ${source?.kind} here`);
}

/** `3 to copy (1.2 MiB), 1 to replace, 2 to delete, 10 are the same.` */
function toPlanText(steps: readonly SyncStep[]): string {
  const of = (action: SyncStep["action"]) => steps.filter((step) => step.action === action);
  const bytes = [...of("copy"), ...of("replace")].reduce(
    (sum, { source }) => sum + (source?.size ?? 0),
    0,
  );
  return `Plan: ${of("copy").length} to copy, ${of("replace").length} to replace (${toSizeText(bytes)}), ${of("delete").length} to delete, ${of("keep").length} are the same.`;
}

/** A word with a connection in front; `C:\` and paths that begin with a dot or slash are local. */
function isRemote(word: string): boolean {
  return /^[^./~\\][^/\\]*:/.test(word) && !/^[A-Za-z]:[\\/]/.test(word);
}

async function openRemote(cli: CliContext, word: string): Promise<SyncedFolder> {
  const address = toItemAddress(word);
  const finder = createItemFinder(cli);
  if (address.kind === "id" || (await finder.findIfThere(address)) !== undefined) {
    const { connection, id } = await findFolder(cli, finder, word);
    return { connectionId: connection.id, id };
  }
  throw new CliError("not_found", `${word} is not there`, {
    hint: `"croft vault item mkdir --parents ${word}" creates it`,
  });
}

async function assertLocal(path: string, word: string, isSource: boolean): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true || (found === undefined && !isSource)) return;
  throw new CliError("file_error", `${word} is not a folder`);
}
