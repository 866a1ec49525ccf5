import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { size } from "../../../output/cells.ts";
import type { Progress } from "../../../output/progress.ts";
import { shapeList } from "../../../output/spec.ts";
import { finishBatch, resultFields, runTasks, type Task } from "../../../support/batch.ts";
import { createItemFinder, type FoundItem, type ItemFinder } from "../../../support/find-item.ts";
import { toItemAddress } from "../../../support/item-address.ts";
import type { CommandModule } from "../../../tree/entry.ts";
import { findFolder, findSource, isFolder } from "./lookup.ts";
import type { Uploaded } from "./send-file.ts";
import { trackTransfer, withRetries } from "./transfer.ts";

interface ItemCopyOptions {
  readonly items: readonly string[];
  /** A folder that exists. */
  readonly folder: string;
}

export const copy = {
  operations: [
    vault.listConnections,
    vault.listItems,
    vault.getItemDetail,
    vault.downloadItem,
    vault.uploadItem,
  ],
  output: shapeList({
    ...resultFields,
    kind: "string?",
    provider_item_id: "string?",
    name: "string?",
    parent_ref: "string?",
    size: "integer?",
  }),
  completions: { items: "items" },
  define(command, cli, run = runItemCopy): void {
    command
      .argument("<items...>", "files as CONNECTION:/path, then CONNECTION:/folder")
      .usage("<item...> CONNECTION:/folder [flags]")
      .action((words: readonly string[]) => {
        const items = words.slice(0, -1);
        if (items.length === 0) throw usageError("give items and then CONNECTION:/folder");
        return run(cli, { items, folder: words.at(-1) ?? "" });
      });
  },
} satisfies CommandModule;

/** Files that are copied at one time. */
const FILES_AT_ONCE = 4;

/** Copies files to a folder of the same or another connection, each under its name. Nothing is overwritten. */
async function runItemCopy(cli: CliContext, { items, folder }: ItemCopyOptions): Promise<void> {
  const progress = await cli.progress();
  const retrying = items.length > 1 ? withRetries(cli, progress) : cli;
  const finder = createItemFinder(retrying);
  const target = await findFolder(retrying, finder, folder);
  const tasks = items.map((word): Task<Uploaded> => ({
    item: word,
    async run() {
      const source = await findFile(retrying, finder, word);
      return (await copyFile(retrying, progress, source, target)).copied;
    },
  }));
  const outcomes = await runTasks(tasks, FILES_AT_ONCE).finally(() => progress.finish());
  const [only, ...others] = outcomes;
  if (others.length === 0 && only?.failure !== undefined) throw only.failure;
  await finishBatch<Uploaded>(cli, outcomes, "copied", [
    { header: "copied", cell: ({ item }) => item },
    { header: "name", cell: ({ name }) => name },
    { header: "size", cell: (one) => size(one.size) },
    { header: "id", cell: ({ provider_item_id: id }) => id },
    { header: "error", cell: ({ error }) => error?.message },
  ]);
}

/** The file that a word names. @throws CliError `unsupported` for a folder */
export async function findFile(
  cli: CliContext,
  finder: ItemFinder,
  word: string,
): Promise<FoundItem & { readonly item: NonNullable<FoundItem["item"]> }> {
  const found = await findSource(cli, finder, toItemAddress(word));
  const { item } = found;
  if (item === undefined && !isFolder(found))
    throw new CliError("not_found", `${word} is no item that the vault knows`);
  if (item === undefined || item.kind === "folder")
    throw new CliError("unsupported", `${word} is a folder; only files are copied`, {
      hint: '"croft vault item sync" takes folders to this machine and from it',
    });
  return { ...found, item };
}

/** Streams a file from one place to another through this machine. Returns the hash of what was sent. */
export async function copyFile(
  cli: CliContext,
  progress: Progress,
  { connection, id, item }: Awaited<ReturnType<typeof findFile>>,
  target: FoundItem,
): Promise<{ readonly copied: Uploaded; readonly sha256: string }> {
  if (cli.flags.dryRun) await upload(() => Readable.from([]), item.size ?? undefined);
  const params = { connection_id: connection.id, item_id: id };
  const { stream, size: length } = await cli.client.download(vault.downloadItem, { params });
  const hash = createHash("sha256");
  let bytes = 0;
  async function* hashed() {
    for await (const chunk of stream) {
      hash.update(chunk as Uint8Array);
      bytes += (chunk as Uint8Array).byteLength;
      yield chunk as Uint8Array;
    }
  }
  try {
    const open = () => Readable.from(hashed(), { objectMode: false });
    const copied = await upload(open, length);
    if (copied.size === bytes) return { copied, sha256: hash.digest("hex") };
    throw new CliError(
      "provider_failed",
      `${item.name}: ${copied.size} of ${bytes} bytes arrived`,
      {
        service: "vault",
      },
    );
  } finally {
    stream.destroy();
  }

  function upload(open: () => Readable, total: number | undefined): Promise<Uploaded> {
    return trackTransfer(progress, item.name, async (shown) => {
      shown.begin(total);
      const { body } = await cli.client.upload(
        vault.uploadItem,
        { params: { connection_id: target.connection.id } },
        {
          fields: { parent_ref: target.id, filename: item.name },
          fileField: "file",
          filename: item.name,
          contentType: item.content_type ?? "application/octet-stream",
          size: total,
          canRestart: false,
          open,
          onProgress: shown.update,
        },
      );
      if (body.kind === "uploaded") return body;
      throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
    });
  }
}

/**
 * Moves a file to another connection: copies it, reads the copy back and compares the hashes, and only then deletes the
 * original. A failure before the end leaves the original.
 */
export async function moveAcross(
  cli: CliContext,
  progress: Progress,
  word: string,
  finder: ItemFinder,
  target: FoundItem,
): Promise<{
  readonly kind: "moved";
  readonly provider_item_id: string;
  readonly parent_ref: string;
}> {
  const source = await findFile(cli, finder, word);
  const { copied, sha256 } = await copyFile(cli, progress, source, target);
  const params = { connection_id: target.connection.id, item_id: copied.provider_item_id };
  const { stream } = await cli.client.download(vault.downloadItem, { params });
  const hash = createHash("sha256");
  for await (const chunk of stream) hash.update(chunk as Uint8Array);
  if (hash.digest("hex") !== sha256)
    throw new CliError("provider_failed", `the copy of ${word} differs; the original was kept`, {
      service: "vault",
      hint: `delete the copy, ${copied.name}, and repeat`,
    });
  await cli.client.call(vault.deleteItem, {
    params: { connection_id: source.connection.id, item_id: source.id },
  });
  return { kind: "moved", provider_item_id: copied.provider_item_id, parent_ref: target.id };
}
