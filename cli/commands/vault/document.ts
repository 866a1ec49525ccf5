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
import { listOf, oneOrList, resourceOf, shape } from "../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../support/batch.ts";
import { findDocumentId, findDocumentOperations } from "../../support/find-document.ts";
import { assertRawOutput, writeRaw } from "../../support/raw-output.ts";
import {
  addWaitFlags,
  assertWaitFlags,
  type WaitFlags,
  waitUntilEnded,
} from "../../support/wait.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";
import { listFiles, uploadFile } from "./document-files.ts";
import {
  assertFree,
  createLocalFiles,
  ONE_FILE_HINT,
  partSuffix,
  toFileName,
} from "./item/local-files.ts";
import { trackTransfer } from "./item/transfer.ts";
import { describeMissingText } from "./missing-text.ts";

export const entries: readonly Entry[] = [
  verb("upload", "Upload files as documents", () => uploadDocument),
  verb("list", "List your documents", () => listDocuments, { aliases: ["ls"] }),
  verb("view", "Show a document", () => viewDocument),
  verb("download", "Download a document", () => downloadDocument),
  verb("edit", "Rename a document or set its topics", () => editDocument),
  verb("classify", "Extract and classify the text of a document again", () => classifyDocument),
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
  {
    header: "missing text",
    cell: ({ status_reason: reason, extracted_text: text }) => describeMissingText(reason, text),
  },
  { header: "text", cell: ({ extracted_text: text }) => text },
];

export interface DocumentUploadOptions extends WaitFlags {
  /** Paths, or `-` alone for standard input. */
  readonly files: readonly string[];
  readonly name?: string;
  readonly recursive?: true;
}

export const uploadDocument = {
  operations: [vault.uploadDocument, vault.getDocument],
  output: oneOrList(vault.uploadDocument, resultFields, 201),
  define(command, cli, run = runUpload): void {
    addWaitFlags(command, "wait until its text is extracted and classified")
      .argument("<files...>", "files, or - for standard input")
      .option("--name <name>", "the name of a single document; the file's own by default")
      .option("-r, --recursive", "also upload the files of folders")
      .action((files: readonly string[], flags: Omit<DocumentUploadOptions, "files">) => {
        assertWaitFlags(flags);
        return run(cli, { files, ...flags });
      });
  },
} satisfies CommandModule;

/**
 * Uploads files, one after the other, and prints the documents. Their texts are extracted afterwards, in the background. If
 * some of several fail, the exit code is `partial`.
 */
async function runUpload(cli: CliContext, options: DocumentUploadOptions): Promise<void> {
  const { files, name, wait, timeout } = options;
  const paths = options.recursive === true ? await listFiles(cli, files) : files;
  const [first = ""] = paths;
  const isBatch = files.length > 1 || options.recursive === true;
  if (isBatch && name !== undefined) throw usageError("--name goes with one file");
  if (paths.includes("-") && name === undefined)
    throw usageError("standard input has no name", "give one with --name, and no other file");
  const progress = await cli.progress();
  const upload = async (path: string) => {
    const filename = name ?? basename(resolve(cli.system.workingDirectory, path));
    const { body } = await uploadFile(cli, path, filename, progress);
    return wait === true ? waitForDocument(cli, body.id, timeout) : body;
  };
  if (!isBatch) {
    const made = await upload(first).finally(() => progress.finish());
    return cli.output.resource(made, lines);
  }
  const outcomes = await runBatch(paths, upload).finally(() => progress.finish());
  await finishBatch(cli, outcomes, "uploaded", [
    { header: "file", cell: ({ item }) => item },
    { header: "id", cell: ({ id }) => id },
    { header: "error", cell: ({ error }) => error?.message },
  ]);
}

/**
 * Waits until a document's text is extracted and classified. @throws CliError `task_failed` when the classification
 * failed, `not_finished` after the timeout
 */
async function waitForDocument(cli: CliContext, id: string, timeout: number | undefined) {
  const read = async () =>
    (await cli.client.call(vault.getDocument, { params: { document_id: id } })).body;
  const ended = await waitUntilEnded(cli, {
    title: `document ${id}`,
    timeout,
    read,
    stateOf: ({ status }) => status,
    hasEnded: ({ status }) => status === "ready" || status === "classification_failed",
    lookWith: `croft vault document view ${id}`,
  });
  if (ended.status === "ready") return ended;
  const missing = describeMissingText(ended.status_reason, ended.extracted_text);
  throw new CliError(
    "task_failed",
    `the classification of document ${id} failed${missing === undefined ? "" : ` (missing text: ${missing})`}`,
    { service: "vault", hint: `"croft vault document classify ${id}" tries again` },
  );
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
  /** An id or a name. */
  readonly id: string;
}

const idHelp = "the document's id, or its name if only one has it";

export const viewDocument = {
  operations: [...findDocumentOperations, vault.getDocument],
  output: resourceOf(vault.getDocument),
  completions: { id: "documents" },
  define(command, cli, run = runView): void {
    command.argument("<id>", idHelp).action((id: string) => run(cli, { id }));
  },
} satisfies CommandModule;

/** Prints a document with its text; one that was shared with the caller without it. */
async function runView(cli: CliContext, { id: word }: DocumentOptions): Promise<void> {
  const id = await findDocumentId(cli, word, { received: true });
  const { body } = await cli.client.call(vault.getDocument, { params: { document_id: id } });
  await cli.output.resource(body, lines);
}

export interface DocumentDownloadOptions extends DocumentOptions {
  /** A file, or `-` for standard output; the document's name in the working directory when absent. */
  readonly output?: string;
}

export const downloadDocument = {
  operations: [...findDocumentOperations, vault.getDocument, vault.getDocumentContent],
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
  { id: word, output }: DocumentDownloadOptions,
): Promise<void> {
  const id = await findDocumentId(cli, word, { received: true });
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
  operations: [...findDocumentOperations, vault.updateDocument],
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
  { id: word, name, topic, noTopics }: DocumentEditOptions,
): Promise<void> {
  if (name === undefined && topic === undefined && !noTopics)
    throw usageError("nothing to change", "give --name, --topic or --no-topics");
  if (topic !== undefined && noTopics)
    throw usageError("--topic and --no-topics contradict each other");
  const topics = noTopics ? [] : topic && [...topic];
  const id = await findDocumentId(cli, word);
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
  operations: [...findDocumentOperations, vault.classifyDocument, vault.getDocument],
  output: shape({ document_id: "string", status: "string" }),
  completions: { id: "documents" },
  define(command, cli, run = runClassify): void {
    addWaitFlags(command, "wait until it is classified, and fail when that fails")
      .argument("<id>", idHelp)
      .action((id: string, flags: WaitFlags) => {
        assertWaitFlags(flags);
        return run(cli, { id, ...flags });
      });
  },
} satisfies CommandModule;

async function runClassify(
  cli: CliContext,
  { id: word, wait, timeout }: DocumentOptions & WaitFlags,
): Promise<void> {
  const id = await findDocumentId(cli, word);
  const { body } = await cli.client.call(vault.classifyDocument, { params: { document_id: id } });
  if (wait === true) {
    const { status, topics } = await waitForDocument(cli, id, timeout);
    const named = topics.length === 0 ? "without a topic" : `as ${topics.join(", ")}`;
    return cli.output.done({ document_id: id, status }, `The document is classified ${named}.`);
  }
  await cli.output.done(
    body,
    `The document is being classified. Look with: croft vault document view ${id}`,
  );
}

export interface DocumentDeleteOptions extends DocumentOptions {
  readonly removeOnly: boolean;
}

export const deleteDocument = {
  operations: [...findDocumentOperations, vault.getDocument, vault.deleteDocument],
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
  { id: word, removeOnly }: DocumentDeleteOptions,
): Promise<void> {
  const id = await findDocumentId(cli, word);
  const params = { document_id: id };
  const { filename } = (await cli.client.call(vault.getDocument, { params })).body;
  await cli.prompts.confirm(`Delete the document ${filename}?`);
  await cli.client.call(vault.deleteDocument, {
    params,
    query: { remove_only: removeOnly ? "true" : "false" },
  });
  await cli.output.done({ deleted: true, id, filename }, `Deleted ${filename}.`);
}
