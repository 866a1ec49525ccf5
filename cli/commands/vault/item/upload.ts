import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { Readable } from "node:stream";
import type { Command } from "commander";
import type { uploadItem as uploadItemEndpoint } from "../../../../daemon/contract/vault/cloud-items.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { size } from "../../../output/cells.ts";
import { type FieldType, shapeList } from "../../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../batch.ts";
import { listConnections } from "../find-connection.ts";
import { createItemFinder, type FoundItem, listItems } from "../find-item.ts";
import { type ItemAddress, noSuchItem, toAddressText, toFolderAddress } from "../item-address.ts";

const uploadItem = operation<typeof uploadItemEndpoint>(
  "vault.cloud.items.upload",
  "POST",
  "/api/cloud/connections/:connection_id/items/upload",
);

type FolderAddress = Extract<ItemAddress, { kind: "path" }>;

const uploadFields: Readonly<Record<string, FieldType>> = {
  ...resultFields,
  kind: "string?",
  provider_item_id: "string?",
  name: "string?",
  parent_ref: "string?",
  size: "integer?",
};

export const operations = [listConnections, listItems, uploadItem];
export const output = shapeList(uploadFields);

/** What the command was given. */
export interface ItemUploadOptions {
  /** Local files; `-` is standard input. */
  readonly sources: readonly string[];
  /** A folder, or for a single file also the name that it shall have. */
  readonly target: FolderAddress;
}

export function define(command: Command, cli: CliContext, run = runItemUpload): void {
  command
    .argument("<files...>", "files to upload (- is standard input), then CONNECTION:/folder")
    .usage("<file...> CONNECTION:/path [flags]")
    .action((words: readonly string[]) => {
      const sources = words.slice(0, -1);
      if (sources.length === 0) throw usageError("give files and then CONNECTION:/path");
      return run(cli, { sources, target: toFolderAddress(words.at(-1) ?? "") });
    });
}

/**
 * Uploads files, one after the other. Nothing is ever overwritten: a taken name is `name_collision`. Of several files
 * those that can be are uploaded; then the code is `partial`.
 */
export async function runItemUpload(
  cli: CliContext,
  { sources, target }: ItemUploadOptions,
): Promise<void> {
  const destination = await findDestination(cli, target, sources);
  const results = await runBatch(sources, (source) => uploadOne(cli, source, destination));
  await finishBatch(cli, results, "uploaded", [
    { header: "uploaded", cell: ({ item }) => item },
    { header: "name", cell: ({ name }) => name },
    { header: "size", cell: (one) => size(one.size) },
    { header: "id", cell: ({ provider_item_id: id }) => id },
    { header: "error", cell: ({ error }) => error?.message },
  ]);
}

interface Destination {
  readonly connectionId: string;
  readonly folder: FoundItem;
  /** For a single file that gets another name. */
  readonly name: string | undefined;
  readonly text: string;
}

/** A folder that exists takes the files under their own names; otherwise its last word names a single file. */
async function findDestination(
  cli: CliContext,
  target: FolderAddress,
  sources: readonly string[],
): Promise<Destination> {
  const finder = createItemFinder(cli);
  const whole = await finder.findIfThere(target);
  if (whole !== undefined && whole.item?.kind !== "file") {
    if (sources.includes("-"))
      throw usageError(
        "standard input has no name",
        `write ${toAddressText(target.connection, [...target.path, "NAME"])}`,
      );
    return toDestination(whole, undefined, target);
  }
  const name = target.path.at(-1);
  if (sources.length > 1 || target.isFolder || name === undefined)
    throw noSuchItem(target.connection, target.path);
  const parent = await finder.find({ ...target, path: target.path.slice(0, -1) });
  if (parent.item?.kind === "file") throw noSuchItem(target.connection, target.path.slice(0, -1));
  return toDestination(parent, name, target);
}

function toDestination(
  folder: FoundItem,
  name: string | undefined,
  target: FolderAddress,
): Destination {
  const text = toAddressText(target.connection, target.path);
  return { connectionId: folder.connection.id, folder, name, text };
}

interface Uploaded {
  readonly kind: string;
  readonly provider_item_id: string;
  readonly name: string;
  readonly parent_ref: string | null;
  readonly size: number;
}

async function uploadOne(
  cli: CliContext,
  source: string,
  destination: Destination,
): Promise<Uploaded> {
  const file = await openSource(cli, source);
  const filename = destination.name ?? basename(source);
  const transfer = (await cli.progress()).begin(filename, file.size);
  let outcome: "done" | "failed" = "failed";
  try {
    const { body } = await cli.client.upload(
      uploadItem,
      { params: { connection_id: destination.connectionId } },
      {
        fields: { parent_ref: destination.folder.id, filename },
        fileField: "file",
        filename,
        contentType: "application/octet-stream",
        size: file.size,
        canRestart: source !== "-",
        open: file.open,
        onProgress: (sent) => transfer.update(sent),
      },
    );
    if (body.kind !== "uploaded")
      throw new CliError("unexpected_answer", "the daemon's answer is unknown");
    outcome = "done";
    return body;
  } finally {
    transfer.end(outcome);
  }
}

async function openSource(
  cli: CliContext,
  source: string,
): Promise<{ readonly size: number | undefined; open(): Readable }> {
  if (source === "-") return { size: undefined, open: () => cli.system.stdin };
  const path = resolve(cli.system.workingDirectory, source);
  const found = await stat(path).catch((error: unknown) => {
    throw fileError(source, error);
  });
  if (found.isDirectory()) throw new CliError("file_error", `${source} is a folder`);
  // A pipe or device tells no length.
  const length = found.isFile() ? found.size : undefined;
  return { size: length, open: () => createReadStream(path) };
}

function fileError(source: string, error: unknown): CliError {
  const { code } = error as NodeJS.ErrnoException;
  const reason = code === "ENOENT" ? "there is no such file" : (error as Error).message;
  return new CliError("file_error", `${source}: ${reason}`, { cause: error });
}
