import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import type { ByteDownload } from "../../../client/bytes.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { size } from "../../../output/cells.ts";
import { shapeList } from "../../../output/spec.ts";
import type { Transfer } from "../../../output/progress.ts";
import { finishBatch, resultFields, runBatch } from "../../batch.ts";
import { listConnections } from "../find-connection.ts";
import { createItemFinder, type ItemFinder, listItems } from "../find-item.ts";
import { toItemAddress } from "../item-address.ts";
import { toFileName } from "./file-name.ts";
import { downloadItem, saveDownload } from "./save-item.ts";

export const operations = [listConnections, listItems, downloadItem];
export const output = shapeList({ ...resultFields, path: "string?", size: "integer?" });
export const completions = { items: "items" } as const;

/** What the command was given. */
export interface ItemDownloadOptions {
  readonly items: readonly string[];
  /** A file, a folder, or `-` for standard output. */
  readonly output: string;
}

export function define(command: Command, cli: CliContext, run = runItemDownload): void {
  command
    .argument("<items...>", "CONNECTION:/path/to/file, or an item's id")
    .option("-o, --output <target>", "a file, a folder, or - for standard output", ".")
    .option("--force", "replace existing files, send bytes to a terminal")
    .action((items: readonly string[], flags: { readonly output: string }) =>
      run(cli, { items, output: flags.output }),
    );
}

/**
 * Downloads files, one after the other. A file appears under its name when it is whole: until then it is called
 * `NAME.part`, which is removed when the download fails. A name that was typed is replaced; one that the server chose
 * is not, without `--force`.
 */
export async function runItemDownload(
  cli: CliContext,
  options: ItemDownloadOptions,
): Promise<void> {
  const { items, output: target } = options;
  const finder = createItemFinder(cli);
  if (target === "-") return toStandardOutput(cli, finder, items);
  const folder = await findFolder(cli, target, items);
  const results = await runBatch(items, async (word) => {
    const source = await open(cli, finder, word);
    return saveOne(cli, source, folder === undefined ? { file: target } : { folder });
  });
  await finishBatch(cli, results, "downloaded", [
    { header: "downloaded", cell: ({ item }) => item },
    { header: "path", cell: ({ path }) => path },
    { header: "size", cell: (one) => size(one.size) },
    { header: "error", cell: ({ error }) => error?.message },
  ]);
}

interface Source {
  readonly name: string;
  readonly download: ByteDownload;
}

async function open(cli: CliContext, finder: ItemFinder, word: string): Promise<Source> {
  const { connection, id, item } = await finder.find(toItemAddress(word));
  if (id === "" || item?.kind === "folder")
    throw new CliError("unsupported", `${word} is a folder; only files can be downloaded`);
  const params = { connection_id: connection.id, item_id: id };
  const download = await cli.client.download(downloadItem, { params });
  return { name: item?.name ?? nameOf(download, id), download };
}

async function toStandardOutput(
  cli: CliContext,
  finder: ItemFinder,
  items: readonly string[],
): Promise<void> {
  const [word, ...others] = items;
  if (word === undefined || others.length > 0)
    throw usageError("--output - takes one item", "give a folder for several");
  if (cli.output.isMachine) throw usageError("--output - does not go with machine output");
  if (cli.io.isOutputTerminal && !cli.flags.force)
    throw usageError(
      "the terminal would show raw bytes",
      "--output FILE writes a file, --force does it anyway",
    );
  const { name, download } = await open(cli, finder, word);
  await track(cli, name, download, async (transfer) => {
    let bytes = 0;
    try {
      for await (const chunk of download.stream) {
        await cli.io.write(chunk as Uint8Array);
        bytes += (chunk as Uint8Array).byteLength;
        transfer.update(bytes);
      }
    } finally {
      download.stream.destroy();
    }
  });
}

async function saveOne(
  cli: CliContext,
  { name, download }: Source,
  to: { readonly file: string } | { readonly folder: string },
): Promise<{ readonly path: string; readonly size: number }> {
  const { workingDirectory } = cli.system;
  const path =
    "file" in to
      ? resolve(workingDirectory, to.file)
      : join(to.folder, toFileName(name, cli.system.platform));
  let bytes = 0;
  await track(cli, name, download, async (transfer) => {
    bytes = await saveDownload(download, {
      name,
      path,
      mayReplace: "file" in to || cli.flags.force,
      signal: cli.signal,
      onProgress: (count) => transfer.update(count),
    });
  });
  return { path, size: bytes };
}

async function track(
  cli: CliContext,
  name: string,
  { size: total }: ByteDownload,
  work: (transfer: Transfer) => Promise<void>,
): Promise<void> {
  const transfer = (await cli.progress()).begin(name, total);
  let outcome: "done" | "failed" = "failed";
  try {
    await work(transfer);
    outcome = "done";
  } finally {
    transfer.end(outcome);
  }
}

/** The folder that the target names; undefined when it names a file. */
async function findFolder(
  cli: CliContext,
  target: string,
  items: readonly string[],
): Promise<string | undefined> {
  const path = resolve(cli.system.workingDirectory, target);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return path;
  if (found === undefined && /[/\\]$/.test(target))
    throw new CliError("file_error", `there is no folder ${target}`);
  if (items.length > 1)
    throw new CliError("file_error", `${target} is no folder, and there are several items`);
  return undefined;
}

/** The name in `Content-Disposition`, else the last part of the id. */
function nameOf({ headers }: ByteDownload, id: string): string {
  const disposition = headers["content-disposition"];
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(String(disposition ?? ""))?.[1];
  try {
    if (encoded !== undefined) return decodeURIComponent(encoded);
  } catch {
    // Not percent-encoding: the id will do.
  }
  return id.split("/").at(-1) ?? id;
}
