import { basename } from "node:path";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { size } from "../../../output/cells.ts";
import { type FieldType, shapeList } from "../../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../batch.ts";
import { listConnections } from "../find-connection.ts";
import { createItemFinder, type FoundItem, listItems } from "../find-item.ts";
import { type ItemAddress, noSuchItem, toAddressText, toFolderAddress } from "../item-address.ts";
import { openSource, sendFile, type Uploaded, uploadItem } from "./send-file.ts";

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

async function uploadOne(
  cli: CliContext,
  source: string,
  { connectionId, folder, name }: Destination,
): Promise<Uploaded> {
  const file = await openSource(cli, source);
  const filename = name ?? basename(source);
  const transfer = (await cli.progress()).begin(filename, file.size);
  let outcome: "done" | "failed" = "failed";
  try {
    const uploaded = await sendFile(cli, file, {
      connectionId,
      folderId: folder.id,
      filename,
      onProgress: (sent) => transfer.update(sent),
    });
    outcome = "done";
    return uploaded;
  } finally {
    transfer.end(outcome);
  }
}
