import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { size } from "../../../output/cells.ts";
import type { Progress } from "../../../output/progress.ts";
import { unpagedList } from "../../../output/spec.ts";
import {
  finishBatch,
  type Outcome,
  resultFields,
  runTasks,
  type Task,
} from "../../../support/batch.ts";
import {
  toItemAddress,
  createItemFinder,
  type FoundItem,
  type ItemFinder,
} from "../../../support/items.ts";
import { type Copied, copyTree, expectTree, planTrees, toCopyPlan } from "./copy-tree.ts";
import { findFolder, findSource, isFolder } from "./lookup.ts";
import type { Uploaded } from "./send-file.ts";
import { createRetries, isSummarized, toSummary, trackTransfer } from "./transfer.ts";
import { commandDetails } from "../../../tree/command.ts";

export const copy = commandDetails({
  args: { "<items...>": "items as CONNECTION:/path, then CONNECTION:/folder" },
  flags: { "-r, --recursive": "copy folders with their contents" },
  usage: "<item...> CONNECTION:/folder [flags]",
  calls: [
    vault.listConnections,
    vault.listItems,
    vault.getItemDetail,
    vault.downloadItem,
    vault.uploadItem,
    vault.createFolder,
    vault.createFolderBatch,
    vault.downloadBatch,
    vault.listBatch,
    vault.uploadBatch,
  ],
  output: unpagedList({
    ...resultFields,
    action: "string?",
    kind: "string?",
    provider_item_id: "string?",
    name: "string?",
    parent_ref: "string?",
    size: "integer?",
    skipped: "string?",
  }),
  completions: { items: "items" },
  examples: [
    ["Copy a file", "croft vault item copy Papers:/notes.md Papers:/2026"],
    [
      "Copy a folder with everything in it",
      "croft vault item copy --recursive Papers:/2026 Papers:/archive",
    ],
    ["Show the request only", "croft vault item copy Papers:/notes.md Papers:/2026 --dry-run"],
  ],
  /**
   * Copies files, and with `recursive` folders with everything in them, to a folder of the same or another connection, each
   * under its name. Never overwrites: items that exist in the destination are left unchanged.
   */
  async run(cli, { items: words, recursive = false }) {
    const items = words.slice(0, -1);
    if (items.length === 0) throw usageError("give items and then CONNECTION:/folder");
    const folder = words.at(-1) ?? "";
    const progress = await cli.progress();
    const isBatch = items.length > 1 || recursive;
    const retries = createRetries(cli, progress);
    const retrying = isBatch ? retries.cli : cli;
    const finder = createItemFinder(retrying);
    const target = await findFolder(retrying, finder, folder);
    const { plans, files, failed } = recursive
      ? await planTrees(retrying, finder, items, target, false)
      : { plans: [], files: items, failed: [] };
    if (cli.flags.dryRun && recursive) throw toCopyPlan(plans, files);
    const tasks = files.map((word): Task<CopiedFile> => ({
      item: word,
      async run() {
        const found = await findFile(retrying, finder, word);
        return { ...(await copyFile(retrying, progress, found, target)).copied, skipped: null };
      },
    }));
    for (const plan of plans) expectTree(progress, plan);
    if (files.length === 0) progress.expectNoMore();
    let outcomes: readonly Outcome<CopiedFile>[] = [];
    try {
      outcomes = await runTasks([...failed, ...tasks], FILES_AT_ONCE);
      for (const plan of plans)
        outcomes = [...outcomes, ...(await copyTree(retries, progress, plan)).outcomes];
    } finally {
      progress.finish();
    }
    const [only, ...others] = outcomes;
    if (!isBatch && others.length === 0 && only?.failure !== undefined) throw only.failure;
    const isSum = isSummarized(cli, recursive);
    await finishBatch<CopiedFile>(
      cli,
      outcomes,
      "copied",
      [
        { header: "copied", cell: ({ item }) => item },
        { header: "name", cell: ({ name }) => name },
        { header: "size", cell: (one) => size(one.size) },
        { header: "id", cell: ({ provider_item_id: id }) => id },
        { header: "skipped", cell: ({ skipped }) => skipped },
        { header: "error", cell: ({ error }) => error?.message },
      ],
      isSum ? ({ failure }) => failure !== undefined : undefined,
    );
    if (isSum)
      cli.io.note(
        toSummary(
          "Copied",
          outcomes.filter(({ value }) => value?.action !== "folder"),
        ),
      );
  },
});

/** Files that are copied at one time. */
const FILES_AT_ONCE = 4;

type CopiedFile = Partial<Omit<Uploaded, keyof Copied>> &
  Partial<Copied> &
  Pick<Copied, "size" | "skipped">;

/** The file that a word names. @throws CliError `unsupported` for a folder */
export async function findFile(
  cli: CliContext,
  finder: ItemFinder,
  word: string,
): Promise<FoundItem & { readonly item: NonNullable<FoundItem["item"]> }> {
  const found = await findSource(cli, finder, toItemAddress(word));
  const { item } = found;
  if (item === undefined && !isFolder(found))
    throw new CliError("not_found", `the vault has no item ${word}`, {
      hint: "items are written CONNECTION:/path or CONNECTION:ID",
    });
  if (item === undefined || item.kind === "folder")
    throw new CliError("unsupported", `${word} is a folder`, {
      hint: "--recursive copies it with everything in it",
    });
  return { ...found, item };
}

/** Streams a file from one place to another through this machine. Returns the hash of the sent bytes. */
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
