import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { listOf, oneOrList, resourceOf, shapeOrList } from "../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../support/batch.ts";
import { findDocumentId, findDocumentOperations } from "../../support/find-document.ts";
import { assertWaitFlags, waitFlags } from "../../support/wait.ts";
import { type Entry, noun } from "../../tree/entry.ts";
import { listVersions, replaceDocument, restoreVersion } from "./document-versions.ts";
import { documentColumns, documentLines } from "./document-columns.ts";
import { downloadDocuments, uploadDocument, waitForDocument } from "./document-transfer.ts";
import { withRetries } from "./item/transfer.ts";
import { toTopicKey } from "./topic.ts";
import { command } from "../../tree/command.ts";

const sorts = ["name", "size", "created_at"] as const;

const statuses = ["pending", "processing", "ready", "classification_failed"] as const;

const idHelp = "the document's id, or its name if only one has it";

const idsHelp = "documents: their ids, or names that only one has";

export const entries: readonly Entry[] = [
  command("upload", "Upload files as documents", async () => uploadDocument),
  command(
    "export",
    "Write all of your documents to a folder, with their data",
    async () => (await import("./document-export.ts")).exportDocuments,
  ),
  command(
    "import",
    "Upload the documents of an export, also of Paperless-ngx",
    async () => (await import("./document-import.ts")).importDocuments,
  ),
  command("list", "List your documents", {
    aliases: ["ls"],
    flags: {
      "--query <words>": "only documents with these words in name or text",
      "--sort <field>": { help: "newest first by default", choices: sorts },
      "--order <direction>": { help: "direction of the sort", choices: ["asc", "desc"] },
      "--topic <name>": "only documents of this topic",
      "--no-topics": "only documents without a topic",
      "--type <type>": "only of this media type, such as application/pdf",
      "--status <status>": { help: "only in this state", choices: statuses },
    },
    calls: [vault.listDocuments],
    output: listOf(vault.listDocuments, "items"),
    completions: { "--topic": "topics" },
    examples: [
      ["List your documents", "croft vault document list"],
      [
        "List documents of a topic with these words",
        'croft vault document list --topic Invoices --query "gas bill"',
      ],
      [
        "List PDF files that have no topic",
        "croft vault document list --no-topics --type application/pdf",
      ],
    ],
    async run(cli, options) {
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
    },
  }),
  command("view", "Show a document", {
    args: { "<id>": idHelp },
    calls: [...findDocumentOperations, vault.getDocument],
    output: resourceOf(vault.getDocument),
    completions: { id: "documents" },
    examples: [
      ["Show a document", "croft vault document view 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8"],
      [
        "Print its name",
        "croft vault document view 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --jq .name",
      ],
    ],
    /** Prints a document with its text. Documents that others shared with the caller have no text. */
    async run(cli, { id: word }) {
      const id = await findDocumentId(cli, word, { received: true });
      const { body } = await cli.client.call(vault.getDocument, { params: { document_id: id } });
      await cli.output.resource(body, documentLines);
    },
  }),
  command("download", "Download documents", async () => downloadDocuments),
  command("edit", "Rename a document or set topics", {
    args: { "<ids...>": idsHelp },
    flags: {
      "--name <name>": "another name, of one document",
      "--topic <name...>": "replace the topics by these",
      "--add-topic <name...>": "add these topics",
      "--remove-topic <name...>": "remove these topics",
      "--no-topics": "remove all topics",
    },
    calls: [...findDocumentOperations, vault.getDocument, vault.updateDocument],
    output: oneOrList(vault.updateDocument, resultFields),
    completions: {
      ids: "documents",
      "--topic": "topics",
      "--add-topic": "topics",
      "--remove-topic": "topics",
    },
    examples: [
      [
        "Rename a document",
        "croft vault document edit 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --name report.pdf",
      ],
      [
        "Set its topics",
        "croft vault document edit 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --topic Invoices",
      ],
      [
        "Add a topic to several documents",
        "croft vault document edit 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 01912d4c-77aa-7cc4-9c2e-0123456789ab --add-topic Taxes",
      ],
    ],
    /** Renames a document or changes topics, also of several documents. If some of several fail, the exit code is `partial`. */
    async run(cli, options) {
      const { ids, name, topic, addTopic, removeTopic, topics } = options;
      const changes = [topic, addTopic ?? removeTopic, topics ? undefined : []];
      const kinds = changes.filter((change) => change !== undefined).length;
      if (name === undefined && kinds === 0)
        throw usageError(
          "nothing to change",
          "give --name, --topic, --add-topic, --remove-topic or --no-topics",
        );
      if (kinds > 1)
        throw usageError(
          "--topic, --no-topics and --add-topic or --remove-topic exclude each other",
        );
      if (name !== undefined && ids.length > 1) throw usageError("--name goes with one document");
      const calling = await withBatchRetries(cli, ids);
      const toTopics = async (id: string) => {
        if (!topics) return [];
        if (addTopic === undefined && removeTopic === undefined) return topic && [...topic];
        const { body } = await calling.client.call(vault.getDocument, {
          params: { document_id: id },
        });
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
    },
  }),
  command("classify", "Extract and classify the text of documents again", {
    args: { "<ids...>": idsHelp },
    flags: waitFlags("wait until it is classified, and fail when that fails"),
    calls: [...findDocumentOperations, vault.classifyDocument, vault.getDocument],
    output: shapeOrList(
      { document_id: "string", status: "string" },
      { ...resultFields, document_id: "string?", status: "string?" },
    ),
    completions: { ids: "documents" },
    examples: [
      [
        "Extract the text again",
        "croft vault document classify 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8",
      ],
      [
        "Show the request only",
        "croft vault document classify 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --dry-run",
      ],
      [
        "Wait for the result",
        "croft vault document classify 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --wait --timeout 5m",
      ],
    ],
    async run(cli, { ids, ...flags }) {
      assertWaitFlags(flags);
      const { wait, timeout } = flags;
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
    },
  }),
  command(
    "replace",
    "Replace the content of a document; the content before is kept as a version",
    async () => replaceDocument,
  ),
  command("versions", "List the contents of a document", async () => listVersions),
  command("restore", "Return a document to an earlier content", async () => restoreVersion),
  noun("trash", "Manage deleted documents", () => import("./document-trash.ts")),
  command("delete", "Delete documents", {
    aliases: ["rm"],
    args: { "<ids...>": idsHelp },
    flags: {
      "--remove-only": "keep the copies at the storage provider",
      "--permanent": "delete at once instead of moving to the trash",
    },
    calls: [...findDocumentOperations, vault.getDocument, vault.deleteDocument],
    output: shapeOrList(
      { deleted: "boolean", id: "string", filename: "string" },
      { ...resultFields, id: "string?", filename: "string?" },
    ),
    destructive: true,
    completions: { ids: "documents" },
    examples: [
      [
        "Delete a document",
        "croft vault document delete 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --yes",
      ],
      [
        "Keep the copy at the provider",
        "croft vault document delete 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --remove-only --yes",
      ],
      [
        "Delete it at once, without the trash",
        "croft vault document delete 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --permanent --yes",
      ],
      [
        "Delete several documents",
        "croft vault document delete 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 01912d4c-77aa-7cc4-9c2e-0123456789ab --yes",
      ],
    ],
    /**
     * Moves documents to the trash, or deletes them with their shares and bytes. The API answers 200 when the provider fails; the client reports that
     * as a failure. If some of several fail, the exit code is `partial`.
     */
    async run(cli, { ids, removeOnly = false, permanent = false }) {
      const calling = await withBatchRetries(cli, ids);
      const find = async (word: string) => {
        const id = await findDocumentId(calling, word);
        const { body } = await calling.client.call(vault.getDocument, {
          params: { document_id: id },
        });
        return { id, filename: body.filename };
      };
      const remove = async ({
        id,
        filename,
      }: {
        readonly id: string;
        readonly filename: string;
      }) => {
        await calling.client.call(vault.deleteDocument, {
          params: { document_id: id },
          query: {
            ...(removeOnly ? { remove_only: "true" as const } : {}),
            ...(permanent ? { permanent: "true" as const } : {}),
          },
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
      await cli.prompts.confirm(
        `Delete the document ${found.filename}${permanent ? " permanently" : ""}?`,
      );
      const removed = await remove(found);
      await cli.output.done({ deleted: true, ...removed }, `Deleted ${removed.filename}.`);
    },
  }),
];

/** Waits for rate limits, which a batch of documents reaches. */
async function withBatchRetries(cli: CliContext, ids: readonly string[]): Promise<CliContext> {
  return ids.length === 1 ? cli : withRetries(cli, await cli.progress());
}
