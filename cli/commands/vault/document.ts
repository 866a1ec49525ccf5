import { basename, resolve } from "node:path";
import { rm } from "node:fs/promises";
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { Option } from "commander";
import type { z } from "zod";
import type { document as documentSchema } from "../../../daemon/contract/vault/documents.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { type Column, size, time } from "../../output/cells.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { assertRawOutput, writeRaw } from "../../support/raw-output.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";
import {
  assertFree,
  createLocalFiles,
  ONE_FILE_HINT,
  partSuffix,
  toFileName,
} from "./item/local-files.ts";
import { openSource } from "./item/send-file.ts";
import { trackTransfer } from "./item/transfer.ts";

export const entries: readonly Entry[] = [
  verb("upload", "Upload a file as a document", () => uploadDocument),
  verb("list", "List your documents", () => listDocuments, { aliases: ["ls"] }),
  verb("view", "Show a document", () => viewDocument),
  verb("download", "Download a document", () => downloadDocument),
  verb("edit", "Rename a document or set its topics", () => editDocument),
  verb("classify", "Extract the text again and classify", () => classifyDocument),
  verb("delete", "Delete a document", () => deleteDocument, { aliases: ["rm"] }),
];

type WireDocument = z.output<typeof documentSchema>;

const columns: readonly Column<Omit<WireDocument, "extracted_text">>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ filename }) => filename },
  { header: "size", cell: ({ size_bytes: bytes }) => size(bytes) },
  { header: "topics", cell: ({ topics }) => topics },
  {
    header: "status",
    cell: ({ status, status_reason: reason }) =>
      reason === null ? status : `${status}: ${reason}`,
  },
  { header: "created", cell: ({ created_at: created }) => time(created) },
];

const lines: readonly Column<WireDocument>[] = [
  ...columns,
  { header: "type", cell: ({ content_type: type }) => type },
  { header: "storage", cell: ({ storage_backend: storage }) => storage },
  { header: "sha256", cell: ({ sha256 }) => sha256 },
  { header: "classified as", cell: ({ classification }) => classification?.topic },
  { header: "because of", cell: ({ classification }) => classification?.words },
  { header: "missing text", cell: toMissingText },
  { header: "text", cell: ({ extracted_text: text }) => text },
];

/** What each `status_reason` says of a text, as docs/documents.md has it. */
const reasons: Readonly<Record<string, string>> = {
  unsupported_format: "croft does not read this format",
  no_text: "the file has no text",
  ocr_off: "pictures of text are not read, because text recognition is off (CROFT_OCR)",
  too_large: "the file is over a limit: 100 MiB, 1,000,000 characters or 20 scanned pages",
  encrypted: "the file is protected with a password",
  damaged: "the file is cut off or broken",
  too_complex: "the file has too many or too deep parts",
  timed_out: "the time for one file was used up",
  provider_error: "the connected storage did not give the bytes",
};

/** Says in words how much text is missing and why; undefined when all of it is there. */
function toMissingText({
  status_reason: reason,
  extracted_text: text,
}: WireDocument): string | undefined {
  if (reason === null) return undefined;
  const why = reasons[reason] ?? reason;
  // A recipient of a share sees no text at all.
  if (text === undefined) return why;
  return text === null ? `all: ${why}` : `a part: ${why}`;
}

export interface DocumentUploadOptions {
  /** A path, or `-` for standard input. */
  readonly file: string;
  readonly name?: string;
}

export const uploadDocument = {
  operations: [vault.uploadDocument],
  output: resourceOf(vault.uploadDocument, 201),
  define(command, cli, run = runUpload): void {
    command
      .argument("<file>", "a file, or - for standard input")
      .option("--name <name>", "the document's name; the file's own by default")
      .action((file: string, flags: { readonly name?: string }) => run(cli, { file, ...flags }));
  },
} satisfies CommandModule;

/** Uploads one file and prints the document. Its text is extracted afterwards, in the background. */
async function runUpload(cli: CliContext, { file, name }: DocumentUploadOptions): Promise<void> {
  if (file === "-" && name === undefined)
    throw usageError("standard input has no name", "give one with --name");
  const filename = name ?? basename(resolve(cli.system.workingDirectory, file));
  const source = await openSource(cli, file);
  const progress = await cli.progress();
  const { body } = await trackTransfer(progress, filename, (shown) => {
    shown.begin(source.size);
    return cli.client.upload(
      vault.uploadDocument,
      {},
      {
        fields: { filename },
        fileField: "file",
        filename,
        contentType: "application/octet-stream",
        size: source.size,
        canRestart: source.canRestart,
        open: source.open,
        onProgress: shown.update,
      },
    );
  }).finally(() => {
    source.close?.();
    progress.finish();
  });
  await cli.output.resource(body, lines);
}

const sorts = ["name", "size", "created_at"] as const;
const statuses = ["pending", "processing", "ready", "classification_failed"] as const;

export interface DocumentListOptions {
  /** Words to find in names and texts. */
  readonly query?: string;
  readonly sort?: (typeof sorts)[number];
  readonly order?: "asc" | "desc";
  readonly topic?: string;
  readonly status?: (typeof statuses)[number];
}

export const listDocuments = {
  operations: [vault.listDocuments],
  output: listOf(vault.listDocuments, "items"),
  completions: { "--topic": "topics" },
  define(command, cli, run = runList): void {
    command
      .option("--query <words>", "only documents with these words in name or text")
      .addOption(new Option("--sort <field>", "newest first by default").choices(sorts))
      .addOption(
        new Option("--order <direction>", "direction of the sort").choices(["asc", "desc"]),
      )
      .option("--topic <name>", "only documents of this topic")
      .addOption(new Option("--status <status>", "only in this state").choices(statuses))
      .action((options: DocumentListOptions) => run(cli, options));
  },
} satisfies CommandModule;

/** Prints the caller's documents. */
async function runList(cli: CliContext, options: DocumentListOptions): Promise<void> {
  const { query: q, ...rest } = options;
  const query = { ...rest, ...(q === undefined ? {} : { q }) };
  await cli.output.list(vaultPages(cli.client, vault.listDocuments, { query }), [
    ...columns,
    ...(q === undefined
      ? []
      : [{ header: "passage", cell: (one: { snippet: string | null }) => one.snippet }]),
  ]);
}

interface DocumentOptions {
  readonly id: string;
}

const idHelp = 'the document\'s id, as "croft vault document list" shows it';

export const viewDocument = {
  operations: [vault.getDocument],
  output: resourceOf(vault.getDocument),
  completions: { id: "documents" },
  define(command, cli, run = runView): void {
    command.argument("<id>", idHelp).action((id: string) => run(cli, { id }));
  },
} satisfies CommandModule;

/** Prints a document with its text; one that was shared with the caller without it. */
async function runView(cli: CliContext, { id }: DocumentOptions): Promise<void> {
  const { body } = await cli.client.call(vault.getDocument, { params: { document_id: id } });
  await cli.output.resource(body, lines);
}

export interface DocumentDownloadOptions extends DocumentOptions {
  /** A file, or `-` for standard output; the document's name in the working directory when absent. */
  readonly output?: string;
}

export const downloadDocument = {
  operations: [vault.getDocument, vault.getDocumentContent],
  output: shape({ id: "string", path: "string", size: "integer" }),
  writes: true,
  completions: { id: "documents" },
  define(command, cli, run = runDownload): void {
    command
      .argument("<id>", idHelp)
      .option("-o, --output <file>", "a file, or - for standard output")
      .option("--force", "replace an existing file")
      .action((id: string, flags: { readonly output?: string }) => run(cli, { id, ...flags }));
  },
} satisfies CommandModule;

/** Writes a document's bytes to a file, which appears under its name when it is whole. */
async function runDownload(
  cli: CliContext,
  { id, output }: DocumentDownloadOptions,
): Promise<void> {
  const input = { params: { document_id: id } };
  if (output === "-") {
    assertRawOutput(cli, {
      what: "--output -",
      instead: "--output FILE writes a file, --force does it anyway",
    });
    const { stream } = await cli.client.download(vault.getDocumentContent, input);
    return writeRaw(cli, stream);
  }
  const { body } = await cli.client.call(vault.getDocument, input);
  const name = output ?? toFileName(body.filename, cli.system.platform);
  const path = resolve(cli.system.workingDirectory, name);
  if (!cli.flags.force) await assertFree(path, ONE_FILE_HINT);
  const part = `${path}${partSuffix}`;
  const progress = await cli.progress();
  try {
    await trackTransfer(progress, body.filename, async (shown) => {
      const { stream } = await cli.client.download(vault.getDocumentContent, input);
      shown.begin(body.size_bytes);
      let bytes = 0;
      stream.on("data", (chunk: Uint8Array) => shown.update((bytes += chunk.byteLength)));
      await pipeline(stream, createWriteStream(part, { mode: 0o600 }), { signal: cli.signal });
      if (bytes !== body.size_bytes)
        throw new CliError(
          "provider_failed",
          `${body.filename}: ${bytes} of ${body.size_bytes} bytes arrived`,
          {
            hint: "repeat the download",
          },
        );
      await createLocalFiles().put(part, path, cli.flags.force);
    });
  } finally {
    progress.finish();
    await rm(part, { force: true });
  }
  await cli.output.done({ id, path, size: body.size_bytes }, `Downloaded ${path}.`);
}

export interface DocumentEditOptions extends DocumentOptions {
  readonly name?: string;
  readonly topic?: readonly string[];
  readonly noTopics: boolean;
}

export const editDocument = {
  operations: [vault.updateDocument],
  output: resourceOf(vault.updateDocument),
  completions: { id: "documents", "--topic": "topics" },
  define(command, cli, run = runEdit): void {
    command
      .argument("<id>", idHelp)
      .option("--name <name>", "another name")
      .option("--topic <name...>", "replace the topics by these")
      .option("--no-topics", "remove all topics")
      .action(
        (
          id: string,
          flags: {
            readonly name?: string;
            readonly topic?: readonly string[];
            readonly topics: boolean;
          },
        ) => run(cli, { id, ...flags, noTopics: !flags.topics }),
      );
  },
} satisfies CommandModule;

async function runEdit(
  cli: CliContext,
  { id, name, topic, noTopics }: DocumentEditOptions,
): Promise<void> {
  if (name === undefined && topic === undefined && !noTopics)
    throw usageError("nothing to change", "give --name, --topic or --no-topics");
  if (topic !== undefined && noTopics)
    throw usageError("--topic and --no-topics contradict each other");
  const topics = noTopics ? [] : topic && [...topic];
  const { body } = await cli.client.call(vault.updateDocument, {
    params: { document_id: id },
    body: {
      ...(name === undefined ? {} : { filename: name }),
      ...(topics === undefined ? {} : { topics }),
    },
  });
  await cli.output.resource(body, lines);
}

export const classifyDocument = {
  operations: [vault.classifyDocument],
  output: resourceOf(vault.classifyDocument, 202),
  completions: { id: "documents" },
  define(command, cli, run = runClassify): void {
    command.argument("<id>", idHelp).action((id: string) => run(cli, { id }));
  },
} satisfies CommandModule;

async function runClassify(cli: CliContext, { id }: DocumentOptions): Promise<void> {
  const { body } = await cli.client.call(vault.classifyDocument, { params: { document_id: id } });
  await cli.output.done(
    body,
    `The document is being classified. Look with: croft vault document view ${id}`,
  );
}

export interface DocumentDeleteOptions extends DocumentOptions {
  readonly removeOnly: boolean;
}

export const deleteDocument = {
  operations: [vault.getDocument, vault.deleteDocument],
  output: shape({ deleted: "boolean", id: "string", filename: "string" }),
  destructive: true,
  completions: { id: "documents" },
  define(command, cli, run = runDelete): void {
    command
      .argument("<id>", idHelp)
      .option("--remove-only", "keep the copy at the storage provider")
      .action((id: string, { removeOnly }: { readonly removeOnly?: true }) =>
        run(cli, { id, removeOnly: removeOnly === true }),
      );
  },
} satisfies CommandModule;

/** Deletes a document with its shares and its bytes. The client reports a provider that failed, which the API answers with 200. */
async function runDelete(
  cli: CliContext,
  { id, removeOnly }: DocumentDeleteOptions,
): Promise<void> {
  const params = { document_id: id };
  const { filename } = (await cli.client.call(vault.getDocument, { params })).body;
  await cli.prompts.confirm(`Delete the document ${filename}?`);
  await cli.client.call(vault.deleteDocument, {
    params,
    query: { remove_only: removeOnly ? "true" : "false" },
  });
  await cli.output.done({ deleted: true, id, filename }, `Deleted ${filename}.`);
}
