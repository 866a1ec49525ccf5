import { Option } from "commander";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { listOf, oneOrList, resourceOf, shapeOrList } from "../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../support/batch.ts";
import { findDocumentId, findDocumentOperations } from "../../support/find-document.ts";
import { addWaitFlags, assertWaitFlags, type WaitFlags } from "../../support/wait.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";
import { documentColumns, documentLines } from "./document-columns.ts";
import { downloadDocuments, uploadDocument, waitForDocument } from "./document-transfer.ts";
import { withRetries } from "./item/transfer.ts";
import { toTopicKey } from "./topic.ts";

export const entries: readonly Entry[] = [
  verb("upload", "Upload files as documents", () => uploadDocument),
  verb("list", "List your documents", () => listDocuments, { aliases: ["ls"] }),
  verb("view", "Show a document", () => viewDocument),
  verb("download", "Download documents", () => downloadDocuments),
  verb("edit", "Rename a document or set topics", () => editDocument),
  verb("classify", "Extract and classify the text of documents again", () => classifyDocument),
  verb("delete", "Delete documents", () => deleteDocument, { aliases: ["rm"] }),
];

const sorts = ["name", "size", "created_at"] as const;
const statuses = ["pending", "processing", "ready", "classification_failed"] as const;

export interface DocumentListOptions {
  /** Words to find in names and texts. */
  readonly query?: string;
  readonly sort?: (typeof sorts)[number];
  readonly order?: "asc" | "desc";
  readonly topic?: string;
  readonly topics: boolean;
  readonly status?: (typeof statuses)[number];
  readonly type?: string;
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
      .option("--no-topics", "only documents without a topic")
      .option("--type <type>", "only of this media type, such as application/pdf")
      .addOption(new Option("--status <status>", "only in this state").choices(statuses))
      .action((flags: DocumentListOptions) => run(cli, flags));
  },
} satisfies CommandModule;

async function runList(cli: CliContext, options: DocumentListOptions): Promise<void> {
  const { query: q, topics, type, ...rest } = options;
  if (rest.topic !== undefined && !topics)
    throw usageError("--topic and --no-topics exclude each other");
  const query = {
    ...rest,
    ...(q === undefined ? {} : { q }),
    ...(topics ? {} : { has_topics: "false" as const }),
    ...(type === undefined ? {} : { content_type: type }),
  };
  await cli.output.list(vaultPages(cli.client, vault.listDocuments, { query }), [
    ...documentColumns,
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

/** Prints a document with its text. Documents that others shared with the caller have no text. */
async function runView(cli: CliContext, { id: word }: DocumentOptions): Promise<void> {
  const id = await findDocumentId(cli, word, { received: true });
  const { body } = await cli.client.call(vault.getDocument, { params: { document_id: id } });
  await cli.output.resource(body, documentLines);
}

export interface DocumentEditOptions {
  /** Ids or names. */
  readonly ids: readonly string[];
  readonly name?: string;
  readonly topic?: readonly string[];
  readonly addTopic?: readonly string[];
  readonly removeTopic?: readonly string[];
  readonly noTopics: boolean;
}

const idsHelp = "documents: their ids, or names that only one has";

export const editDocument = {
  operations: [...findDocumentOperations, vault.getDocument, vault.updateDocument],
  output: oneOrList(vault.updateDocument, resultFields),
  completions: {
    ids: "documents",
    "--topic": "topics",
    "--add-topic": "topics",
    "--remove-topic": "topics",
  },
  define(command, cli, run = runEdit): void {
    command
      .argument("<ids...>", idsHelp)
      .option("--name <name>", "another name, of one document")
      .option("--topic <name...>", "replace the topics by these")
      .option("--add-topic <name...>", "add these topics")
      .option("--remove-topic <name...>", "remove these topics")
      .option("--no-topics", "remove all topics")
      .action(
        (
          ids: readonly string[],
          flags: Omit<DocumentEditOptions, "ids" | "noTopics"> & { readonly topics: boolean },
        ) => run(cli, { ids, ...flags, noTopics: !flags.topics }),
      );
  },
} satisfies CommandModule;

/** Renames a document or changes topics, also of several documents. If some of several fail, the exit code is `partial`. */
async function runEdit(cli: CliContext, options: DocumentEditOptions): Promise<void> {
  const { ids, name, topic, addTopic, removeTopic, noTopics } = options;
  const changes = [topic, addTopic ?? removeTopic, noTopics ? [] : undefined];
  const kinds = changes.filter((change) => change !== undefined).length;
  if (name === undefined && kinds === 0)
    throw usageError(
      "nothing to change",
      "give --name, --topic, --add-topic, --remove-topic or --no-topics",
    );
  if (kinds > 1)
    throw usageError("--topic, --no-topics and --add-topic or --remove-topic exclude each other");
  if (name !== undefined && ids.length > 1) throw usageError("--name goes with one document");
  const calling = await withBatchRetries(cli, ids);
  const toTopics = async (id: string) => {
    if (noTopics) return [];
    if (addTopic === undefined && removeTopic === undefined) return topic && [...topic];
    const { body } = await calling.client.call(vault.getDocument, { params: { document_id: id } });
    const removed = new Set((removeTopic ?? []).map(toTopicKey));
    return [...body.topics.filter((one) => !removed.has(toTopicKey(one))), ...(addTopic ?? [])];
  };
  const edit = async (word: string) => {
    const id = await findDocumentId(calling, word);
    const topics = await toTopics(id);
    const { body } = await calling.client.call(vault.updateDocument, {
      params: { document_id: id },
      body: {
        ...(name === undefined ? {} : { filename: name }),
        ...(topics === undefined ? {} : { topics }),
      },
    });
    return body;
  };
  const [first = ""] = ids;
  if (ids.length === 1) return cli.output.resource(await edit(first), documentLines);
  await finishBatch(cli, await runBatch(ids, edit), "changed", [
    { header: "document", cell: ({ item }) => item },
    { header: "topics", cell: ({ topics }) => topics },
    { header: "error", cell: ({ error }) => error?.message },
  ]);
}

export interface DocumentClassifyOptions extends WaitFlags {
  readonly ids: readonly string[];
}

export const classifyDocument = {
  operations: [...findDocumentOperations, vault.classifyDocument, vault.getDocument],
  output: shapeOrList(
    { document_id: "string", status: "string" },
    { ...resultFields, document_id: "string?", status: "string?" },
  ),
  completions: { ids: "documents" },
  define(command, cli, run = runClassify): void {
    addWaitFlags(command, "wait until it is classified, and fail when that fails")
      .argument("<ids...>", idsHelp)
      .action((ids: readonly string[], flags: WaitFlags) => {
        assertWaitFlags(flags);
        return run(cli, { ids, ...flags });
      });
  },
} satisfies CommandModule;

async function runClassify(
  cli: CliContext,
  { ids, wait, timeout }: DocumentClassifyOptions,
): Promise<void> {
  const calling = await withBatchRetries(cli, ids);
  const classify = async (word: string) => {
    const id = await findDocumentId(calling, word);
    const { body } = await calling.client.call(vault.classifyDocument, {
      params: { document_id: id },
    });
    if (wait !== true) return { ...body, topics: [] };
    const { status, topics } = await waitForDocument(calling, id, timeout);
    return { document_id: id, status, topics };
  };
  const [first = ""] = ids;
  if (ids.length > 1) {
    const outcomes = await runBatch(ids, async (word) => {
      const { document_id, status } = await classify(word);
      return { document_id, status };
    });
    return finishBatch(cli, outcomes, "classified", [
      { header: "document", cell: ({ item }) => item },
      { header: "status", cell: ({ status }) => status },
      { header: "error", cell: ({ error }) => error?.message },
    ]);
  }
  const { document_id, status, topics } = await classify(first);
  const named = topics.length === 0 ? "without a topic" : `as ${topics.join(", ")}`;
  await cli.output.done(
    { document_id, status },
    wait === true
      ? `The document is classified ${named}.`
      : `The document is being classified. "croft vault document view ${document_id}" shows the progress.`,
  );
}

export interface DocumentDeleteOptions {
  readonly ids: readonly string[];
  readonly removeOnly: boolean;
}

export const deleteDocument = {
  operations: [...findDocumentOperations, vault.getDocument, vault.deleteDocument],
  output: shapeOrList(
    { deleted: "boolean", id: "string", filename: "string" },
    { ...resultFields, id: "string?", filename: "string?" },
  ),
  destructive: true,
  completions: { ids: "documents" },
  define(command, cli, run = runDelete): void {
    command
      .argument("<ids...>", idsHelp)
      .option("--remove-only", "keep the copies at the storage provider")
      .action((ids: readonly string[], { removeOnly }: { readonly removeOnly?: true }) =>
        run(cli, { ids, removeOnly: removeOnly === true }),
      );
  },
} satisfies CommandModule;

/**
 * Deletes documents with their shares and bytes. The API answers 200 when the provider fails; the client reports that
 * as a failure. If some of several fail, the exit code is `partial`.
 */
async function runDelete(
  cli: CliContext,
  { ids, removeOnly }: DocumentDeleteOptions,
): Promise<void> {
  const calling = await withBatchRetries(cli, ids);
  const find = async (word: string) => {
    const id = await findDocumentId(calling, word);
    const { body } = await calling.client.call(vault.getDocument, { params: { document_id: id } });
    return { id, filename: body.filename };
  };
  const remove = async ({ id, filename }: { readonly id: string; readonly filename: string }) => {
    await calling.client.call(vault.deleteDocument, {
      params: { document_id: id },
      query: { remove_only: removeOnly ? "true" : "false" },
    });
    return { id, filename };
  };
  const [first = ""] = ids;
  if (ids.length > 1) {
    await cli.prompts.confirm(`Delete these ${ids.length} documents?`);
    const outcomes = await runBatch(ids, async (word) => remove(await find(word)));
    return finishBatch(cli, outcomes, "deleted", [
      { header: "document", cell: ({ item }) => item },
      { header: "error", cell: ({ error }) => error?.message },
    ]);
  }
  const found = await find(first);
  await cli.prompts.confirm(`Delete the document ${found.filename}?`);
  const removed = await remove(found);
  await cli.output.done({ deleted: true, ...removed }, `Deleted ${removed.filename}.`);
}

/** Waits for rate limits, which a batch of documents reaches. */
async function withBatchRetries(cli: CliContext, ids: readonly string[]): Promise<CliContext> {
  return ids.length === 1 ? cli : withRetries(cli, await cli.progress());
}
