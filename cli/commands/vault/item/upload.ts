import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { type CliError, usageError } from "../../../errors.ts";
import { size } from "../../../output/cells.ts";
import { type FieldType, unpagedList } from "../../../output/spec.ts";
import { finishBatch, resultFields, runTasks } from "../../../support/batch.ts";
import {
  noSuchItem,
  toAddressText,
  toItemAddress,
  createItemFinder,
  type FoundItem,
} from "../../../support/items.ts";
import { toRunName } from "../../../support/runs.ts";
import { findFolder } from "./lookup.ts";
import { fileError, type Uploaded } from "./send-file.ts";
import {
  BATCHED_AT_ONCE,
  createRetries,
  isSummarized,
  toSummary,
  toTransferOptions,
  transferFlags,
} from "./transfer.ts";
import {
  enterOrPlan,
  openRemoteFolder,
  type RemoteFolder,
  createFolderListings,
} from "./remote-folders.ts";
import { createRunUploads, runUploadOperations } from "./upload-from-run.ts";
import { createUploads, type UploadTarget } from "./uploads.ts";
import { commandDetails } from "../../../tree/command.ts";

const uploadFields: Readonly<Record<string, FieldType>> = {
  ...resultFields,
  kind: "string?",
  provider_item_id: "string?",
  name: "string?",
  parent_ref: "string?",
  size: "integer?",
  skipped: "string?",
};

export const upload = commandDetails({
  args: { "<files...>": "files to upload (- is standard input), then CONNECTION:/folder" },
  flags: {
    ...transferFlags,
    "--replace": "replace existing files that differ",
    "--if-match <etag>": "replace a single file, only if it still has this etag",
    "--from-run <run>": {
      help: "the files are names of artifacts of this run, OWNER/NAME/ID",
      parse: toRunName,
    },
    "--logs": "with --from-run: also the logs of its jobs",
  },
  usage: "<file...> CONNECTION:/path [flags]",
  calls: [
    vault.listConnections,
    vault.listItems,
    vault.listBatch,
    vault.getItemDetail,
    vault.createFolder,
    vault.createFolderBatch,
    vault.uploadItem,
    vault.uploadBatch,
    vault.beginUpload,
    vault.appendUpload,
    vault.completeUpload,
    vault.replaceContent,
    vault.replaceBatch,
    ...runUploadOperations,
  ],
  output: unpagedList(uploadFields),
  completions: { files: "transfers" },
  examples: [
    ["Upload a file", "croft vault item upload report.pdf Papers:/"],
    [
      "Upload a folder, without files that are there",
      "croft vault item upload -r photos Papers:/ --skip-existing",
    ],
    [
      "Replace the version that was read, and no later one",
      "croft vault item upload notes.md Papers:/notes.md --if-match Ngql6_oY79GfYOskMsEdU-IVhv8",
    ],
    [
      "Keep an artifact of a run and the logs of its jobs",
      "croft vault item upload --from-run keeper/notes/17 logs --logs Papers:/2026",
    ],
  ],
  /**
   * Uploads files, several at one time, and with `recursive` folders with everything in them. A taken name is
   * `name_collision`, unless `replace` is set: then the file is replaced under its etag. If some of several fail, the exit
   * code is `partial`.
   */
  async run(cli, { files: words, ifMatch: etag, fromRun, logs = false, ...flags }) {
    const sources = words.slice(0, -1);
    if (logs && fromRun === undefined) throw usageError("--logs goes with --from-run");
    if (sources.length === 0 && !logs) throw usageError("give files and then CONNECTION:/path");
    if (fromRun !== undefined && (flags.replace || flags.recursive || flags.skipExisting || etag))
      throw usageError(
        "--from-run goes with none of --recursive, --replace, --skip-existing and --if-match",
      );
    const target = words.at(-1) ?? "";
    // Otherwise the last file would be read as an id.
    if (!target.includes(":"))
      throw usageError(
        `${target} is not a folder of a connection`,
        "write CONNECTION:/path at the end",
      );
    if (etag !== undefined && (sources.length > 1 || flags.recursive === true))
      throw usageError("--if-match goes with one file");
    const options = {
      sources,
      target,
      replace: flags.replace === true || etag !== undefined,
      ...(etag === undefined ? {} : { etag }),
      ...toTransferOptions(flags),
    };

    const { recursive, transfers } = options;
    if (sources.filter((source) => source === "-").length > 1)
      throw usageError("standard input can be uploaded once");
    // A folder that is missing in the target is created before its files are read.
    if (recursive) await assertAnyExists(cli, sources);
    const progress = await cli.progress();
    const isBatch = sources.length > 1 || recursive || logs;
    const retries = isBatch ? createRetries(cli, progress) : undefined;
    const retrying = retries?.cli ?? cli;
    const destination = await findDestination(
      retrying,
      target,
      logs ? [...sources, "logs", "logs"] : sources,
      recursive,
    );
    const batching = cli.flags.dryRun ? undefined : retries;
    const tasks =
      fromRun === undefined
        ? createUploads(retrying, sources, destination, { ...options, progress, batching })
        : await createRunUploads(retrying, fromRun, {
            names: sources,
            logs,
            target: destination,
            progress,
          });
    const atOnce = batching === undefined || fromRun !== undefined ? transfers : BATCHED_AT_ONCE;
    const outcomes = await runTasks(tasks, atOnce).finally(() => progress.finish());
    const [only, ...others] = outcomes;
    if (sources.length === 1 && others.length === 0 && only?.failure !== undefined)
      throw only.failure;
    const isSum = isSummarized(cli, recursive);
    await finishBatch<Shown>(
      cli,
      outcomes,
      "uploaded",
      [
        { header: "uploaded", cell: ({ item }) => item },
        { header: "name", cell: ({ name }) => name },
        { header: "size", cell: (one) => size(one.size) },
        { header: "id", cell: ({ provider_item_id: id }) => id },
        { header: "error", cell: ({ error }) => error?.message },
        { header: "skipped", cell: ({ skipped }) => skipped },
      ],
      isSum ? ({ failure }) => failure !== undefined : undefined,
    );
    if (isSum) cli.io.note(toSummary("Uploaded", outcomes));
  },
});

/** @throws CliError `file_error` when none of the sources exists */
async function assertAnyExists(cli: CliContext, sources: readonly string[]): Promise<void> {
  let failure: CliError | undefined;
  for (const source of sources) {
    if (source === "-") return;
    try {
      await stat(resolve(cli.system.workingDirectory, source));
      return;
    } catch (error) {
      failure ??= fileError(source, error);
    }
  }
  if (failure !== undefined) throw failure;
}

type Shown = Partial<Omit<Uploaded, "size">> & {
  readonly size: number | null;
  readonly skipped: string | null;
};

/**
 * An existing folder receives the files under their own names. Otherwise the last segment is the name of a single file.
 */
async function findDestination(
  cli: CliContext,
  word: string,
  sources: readonly string[],
  recursive: boolean,
): Promise<UploadTarget> {
  const finder = createItemFinder(cli);
  const target = toItemAddress(word);
  if (target.kind === "id") {
    if (sources.includes("-"))
      throw usageError("standard input has no name", "write CONNECTION:/path/NAME");
    return { folder: toFolder(cli, await findFolder(cli, finder, word), word), name: undefined };
  }
  const text = (path: readonly string[]) => toAddressText(target.connection, path);
  const whole = await finder.findIfThere(target);
  if (whole !== undefined && whole.item?.kind !== "file") {
    if (sources.includes("-"))
      throw usageError("standard input has no name", `write ${text([...target.path, "NAME"])}`);
    return { folder: toFolder(cli, whole, text(target.path)), name: undefined };
  }
  const name = target.path.at(-1);
  const above = target.path.slice(0, -1);
  const isName = sources.length === 1 && !target.isFolder && !recursive;
  if (name === undefined || (!isName && !recursive))
    throw noSuchItem(target.connection, target.path, true);
  if (recursive && sources.includes("-"))
    throw usageError("standard input does not go with --recursive");
  const parent = await finder.find({ ...target, path: above });
  if (parent.item?.kind === "file") throw noSuchItem(target.connection, above);
  const folder = toFolder(cli, parent, text(above));
  if (!recursive) return { folder, name };
  const { connectionId } = folder;
  const listings = createFolderListings(cli, connectionId, { refresh: true, levels: 1 });
  return { ...(await enterOrPlan(cli, folder, name, listings)), name: undefined };
}

function toFolder(cli: CliContext, { connection, id }: FoundItem, address: string): RemoteFolder {
  const text = address.replace(/\/$/, "");
  const folder = { connectionId: connection.id, id, text, isNew: false };
  const listings = createFolderListings(cli, connection.id, { refresh: true, levels: 1 });
  return openRemoteFolder(folder, listings);
}
