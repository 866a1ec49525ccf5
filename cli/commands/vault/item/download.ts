import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, DryRun, usageError } from "../../../errors.ts";
import { size } from "../../../output/cells.ts";
import { unpagedList } from "../../../output/spec.ts";
import { finishBatch, resultFields, runTasks } from "../../../support/batch.ts";
import { isConnectionAddress, toItemAddress, createItemFinder } from "../../../support/items.ts";
import { assertRawOutput } from "../../../support/raw-output.ts";
import { createDownloads, type Downloaded } from "./downloads.ts";
import { openLocalFolder } from "./local-files.ts";
import { findSource } from "./lookup.ts";
import { openFile, streamItem } from "./receive-file.ts";
import {
  BATCHED_AT_ONCE,
  createRetries,
  isSummarized,
  trackTransfer,
  toSummary,
  toTransferOptions,
  transferFlags,
} from "./transfer.ts";
import { commandDetails } from "../../../tree/command.ts";

export const download = commandDetails({
  args: { "<items...>": "CONNECTION:/path, or an item's id" },
  flags: {
    "-o, --output <target>": { help: "a file, a folder, or - for standard output", default: "." },
    ...transferFlags,
    "--force": "replace existing files, send bytes to a terminal",
  },
  calls: [
    vault.listConnections,
    vault.listItems,
    vault.getItemDetail,
    vault.downloadItem,
    vault.downloadBatch,
    vault.listBatch,
  ],
  output: unpagedList({
    ...resultFields,
    path: "string?",
    size: "integer?",
    skipped: "string?",
  }),
  completions: { items: "items" },
  writes: true,
  examples: [
    ["Download a file", "croft vault item download Papers:/2026/invoice.pdf"],
    [
      "Download a folder into another one",
      "croft vault item download -r Papers:/2026 --output copies",
    ],
  ],
  /**
   * Downloads files, several at one time, and with `recursive` folders with everything in them. A file appears under
   * its name when it is complete. An existing file is replaced if its name was typed; if the server chose the name, only
   * with `--force`. If some of several fail, the exit code is `partial`.
   */
  async run(cli, { items, ...flags }) {
    const options = { items, ...toTransferOptions(flags) };
    const { output: target } = flags;
    const { recursive, transfers } = options;
    if (target === "-") return toStandardOutput(cli, options);
    await assertItems(cli, items);
    const progress = await cli.progress();
    const isBatch = items.length > 1 || recursive;
    const retries = isBatch ? createRetries(cli, progress) : undefined;
    const batching = cli.flags.dryRun ? undefined : retries;
    const downloads = createDownloads(retries?.cli ?? cli, {
      ...options,
      progress,
      batching,
      target: await findTarget(cli, target, options),
    });
    try {
      const atOnce = batching === undefined ? transfers : BATCHED_AT_ONCE;
      const outcomes = await runTasks(downloads.tasks(items), atOnce).finally(() =>
        progress.finish(),
      );
      const [only, ...others] = outcomes;
      if (items.length === 1 && others.length === 0 && only?.failure !== undefined)
        throw only.failure;
      if (cli.flags.dryRun) downloads.showPlan(outcomes);
      const isSum = isSummarized(cli, recursive);
      await finishBatch<Downloaded>(
        cli,
        outcomes,
        "downloaded",
        [
          { header: "downloaded", cell: ({ item }) => item },
          { header: "path", cell: ({ path }) => path },
          { header: "size", cell: (one) => size(one.size) },
          { header: "error", cell: ({ error }) => error?.message },
          { header: "skipped", cell: ({ skipped }) => skipped },
        ],
        isSum ? ({ failure }) => failure !== undefined : undefined,
      );
      if (isSum) cli.io.note(toSummary("Downloaded", outcomes));
    } finally {
      const { resumableParts } = downloads;
      if (resumableParts > 0 && !cli.output.isMachine)
        cli.io.note(
          `The received part of ${resumableParts === 1 ? "1 file" : `${resumableParts} files`} is kept in .croft-part files; the same command${isBatch ? " with --skip-existing" : ""} resumes the download.`,
        );
    }
  },
});

/**
 * Refuses a last argument that can only be a target: people write `download ITEM out.pdf` as in other copy commands.
 * @throws CliError `usage`
 */
async function assertItems(cli: CliContext, items: readonly string[]): Promise<void> {
  const last = items.at(-1) ?? "";
  if (items.length < 2 || isConnectionAddress(last, cli.system.platform)) return;
  const isPath = /^[./~]|:/.test(last);
  if (!isPath && (await isKnownItem(cli, last))) return;
  throw usageError(
    `${last} is not an item`,
    `--output ${last} names the target; items are written CONNECTION:/path or CONNECTION:ID`,
  );
}

async function isKnownItem(cli: CliContext, word: string): Promise<boolean> {
  try {
    const { item } = await findSource(cli, createItemFinder(cli), toItemAddress(word));
    return item !== undefined;
  } catch (error) {
    // With several connections an id alone is ambiguous.
    if (error instanceof CliError && error.code === "usage") return false;
    throw error;
  }
}

/** What is downloaded. */
interface Wanted {
  readonly items: readonly string[];
  readonly recursive: boolean;
}

async function toStandardOutput(cli: CliContext, { items, recursive }: Wanted): Promise<void> {
  const [word, ...others] = items;
  if (word === undefined || others.length > 0)
    throw usageError("--output - takes one item", "give a folder for several");
  if (recursive) throw usageError("--output - takes no folder", "give a folder for --recursive");
  assertRawOutput(cli, {
    what: "--output -",
    instead: "--output FILE writes a file, --force does it anyway",
  });
  const source = await openFile(cli, word);
  if (cli.flags.dryRun)
    throw new DryRun({ downloads: [{ item: word, path: "-", size: source.size }] });
  await trackTransfer(await cli.progress(), source.name, (shown) =>
    streamItem(cli, source, (chunk) => cli.io.write(chunk), shown),
  );
}

/** Resolves the target: a folder, or the path of one file. The folder of a tree is created when it is missing. */
async function findTarget(cli: CliContext, target: string, { items, recursive }: Wanted) {
  const path = resolve(cli.system.workingDirectory, target);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true)
    return { kind: "folder", folder: await openLocalFolder(path) } as const;
  if (recursive) {
    if (found !== undefined) throw new CliError("conflict", `${target} is not a folder`);
    return { kind: "new_folder", path } as const;
  }
  if (found === undefined && /[/\\]$/.test(target))
    throw new CliError("file_error", `there is no folder ${target}`, { hint: "create it first" });
  if (items.length > 1)
    throw new CliError("file_error", `${target} is not a folder, and there are several items`, {
      hint: "name an existing folder with --output",
    });
  // A pipe or device is written directly; it cannot be replaced by a rename.
  const isSpecial = found !== undefined && !found.isFile();
  return { kind: "file", path, isSpecial } as const;
}
