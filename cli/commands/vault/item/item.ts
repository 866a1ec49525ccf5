import type { z } from "zod";
import type { itemDetail } from "../../../../daemon/contract/vault/cloud/shapes.ts";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { type Column, size, time } from "../../../output/cells.ts";
import { sanitizeText } from "../../../output/sanitize.ts";
import { toShellWord } from "../../../output/shell-word.ts";
import { resourceOf, shape } from "../../../output/spec.ts";
import { capabilityColumns } from "../../../support/connection.ts";
import { toItemAddress, createItemFinder, findItem } from "../../../support/items.ts";
import { assertWaitFlags, waitUntilEnded, waitFlags } from "../../../support/wait.ts";
import { type Entry, noun } from "../../../tree/entry.ts";
import { describeMissingText } from "../document-columns.ts";
import { explainFailure } from "./lookup.ts";
import { streamItem } from "./receive-file.ts";
import { command } from "../../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List a folder", async () => (await import("./list.ts")).listItems, {
    aliases: ["ls"],
  }),
  command("tree", "List a folder recursively", async () => (await import("./list.ts")).listTree),
  command(
    "browse",
    "Browse your storage in a full-screen view",
    async () => (await import("./browse.ts")).browse,
  ),
  command("view", "Show the metadata of an item", {
    args: { "<item>": "CONNECTION:/path, or an item's id" },
    calls: [vault.listConnections, vault.listItems, vault.getItemDetail],
    output: resourceOf(vault.getItemDetail),
    completions: { item: "items" },
    examples: [
      ["Show an item", "croft vault item view Papers:/2026/report.pdf"],
      ["Print its etag", "croft vault item view Papers:/2026/report.pdf --jq .etag"],
    ],
    /** Prints the recorded metadata of an item without a request to the provider. */
    async run(cli, { item }) {
      const found = await findItem(createItemFinder(cli), item);
      const asking = cli.client.call(vault.getItemDetail, {
        params: { connection_id: found.connection.id, item_id: found.id },
      });
      const { body } = await asking.catch(explainFailure(cli, item, found));
      await cli.output.resource(body, detailColumns);
    },
  }),
  command("capabilities", "Show the capabilities of an item's storage", {
    args: { "<item>": "CONNECTION:/path; CONNECTION:/ for the storage as a whole" },
    calls: [vault.listConnections, vault.listItems],
    output: shape({
      create_only: "string",
      rename: "string",
      move: "string",
      delete_precondition: "string",
      replace_precondition: "string?",
      trash: "boolean",
      range: "boolean",
      quota: "boolean",
      folder_rename: "boolean",
    }),
    completions: { item: "items" },
    examples: [
      ["Show what a storage supports", "croft vault item capabilities Papers:/"],
      [
        "Print the capabilities of a file as JSON",
        "croft vault item capabilities Papers:/2026/report.pdf --json",
      ],
    ],
    /** Prints the capabilities of an item's storage, as recorded in its connection; the provider is not called. */
    async run(cli, { item }) {
      const { connection } = await createItemFinder(cli).find(toItemAddress(item));
      const { capabilities, display_name: name } = connection;
      if (!capabilities)
        throw new CliError(
          "unsupported",
          `the capabilities of ${JSON.stringify(name)} are not known`,
          {
            hint: "a successful check determines them: croft vault connection test",
          },
        );
      await cli.output.resource(capabilities, capabilityColumns);
    },
  }),
  command(
    "open",
    "Open a file with the system's default program",
    async () => (await import("./open.ts")).openItem,
  ),
  command("edit", "Edit a file in your editor", async () => (await import("./edit.ts")).edit),
  command("cat", "Write files to standard output", {
    args: { "<items...>": "CONNECTION:/path/to/file, or an item's id" },
    calls: [vault.listConnections, vault.listItems, vault.downloadItem],
    output: { kind: "bytes" },
    completions: { items: "items" },
    examples: [
      ["Print a file", "croft vault item cat Papers:/notes.md"],
      ["Join two files", "croft vault item cat Papers:/notes.md Papers:/more.md > all.md"],
    ],
    /** Writes the bytes of files to standard output, one after the other. A terminal gets text only, unless forced. */
    async run(cli, { items }) {
      if (cli.output.isMachine)
        throw usageError("bytes do not go with machine output", "leave out the output flags");
      const isFiltered = cli.io.isOutputTerminal && !cli.flags.force;
      const finder = createItemFinder(cli);
      for (const word of items) {
        const { connection, id, item } = await finder.find(toItemAddress(word));
        if (id === "" || item?.kind === "folder")
          throw new CliError("unsupported", `${word} is a folder; only files have bytes`);
        const params = { connection_id: connection.id, item_id: id };
        const opened = await cli.client.download(vault.downloadItem, { params });
        try {
          if (isFiltered && !isText(opened.headers["content-type"]))
            throw usageError(
              "the terminal would show raw bytes",
              '"croft vault item download" writes a file, --force shows them anyway',
            );
          const write = isFiltered ? textWriter(cli) : (chunk: Uint8Array) => cli.io.write(chunk);
          await streamItem(cli, { params, name: word, opened }, write);
        } finally {
          opened.stream.destroy();
        }
      }
    },
  }),
  command("upload", "Upload files and folders", async () => (await import("./upload.ts")).upload, {
    aliases: ["put"],
  }),
  command(
    "download",
    "Download files and folders",
    async () => (await import("./download.ts")).download,
    {
      aliases: ["get"],
    },
  ),
  command(
    "sync",
    "Make a folder match another one, local or remote",
    async () => (await import("./sync.ts")).sync,
  ),
  command(
    "copy",
    "Copy files to another folder or connection",
    async () => (await import("./copy.ts")).copy,
    { aliases: ["cp"] },
  ),
  command("watch", "Print the changes of a folder", async () => (await import("./watch.ts")).watch),
  command("mkdir", "Create a folder", async () => (await import("./change.ts")).makeFolder),
  command("rename", "Rename an item", async () => (await import("./change.ts")).renameItem),
  command(
    "move",
    "Move items to another folder",
    async () => (await import("./change.ts")).moveItems,
    { aliases: ["mv"] },
  ),
  command("delete", "Delete items", async () => (await import("./change.ts")).deleteItems, {
    aliases: ["rm"],
  }),
  noun("trash", "Manage deleted items", () => import("./trash.ts")),
  command("analyze", "Extract and classify the text of an item", {
    args: { "<item>": "CONNECTION:/path/to/file, or an item's id" },
    flags: waitFlags("wait until it is analysed, and fail when that fails"),
    calls: [vault.listConnections, vault.listItems, vault.analyzeItem, vault.getItemDetail],
    output: shape({ provider_item_id: "string", analysis_status: "string" }),
    completions: { item: "items" },
    examples: [
      [
        "Extract and classify the text of a file",
        "croft vault item analyze Papers:/2026/report.pdf",
      ],
      ["Show the request only", "croft vault item analyze Papers:/2026/report.pdf --dry-run"],
      [
        "Wait for the result",
        "croft vault item analyze Papers:/2026/report.pdf --wait --timeout 5m",
      ],
    ],
    /** Requests the extraction and classification of an item's text; "croft vault item view" shows the progress. */
    async run(cli, { item, ...flags }) {
      assertWaitFlags(flags);
      const { wait, timeout } = flags;
      const found = await findItem(createItemFinder(cli), item);
      const params = { connection_id: found.connection.id, item_id: found.id };
      const asking = cli.client.call(vault.analyzeItem, { params });
      const { body } = await asking.catch(explainFailure(cli, item, found));
      if (wait !== true) return cli.output.done(body, `Queued the analysis of ${item}.`);
      const ended = await waitUntilEnded(cli, {
        title: `the analysis of ${item}`,
        timeout,
        read: async () => (await cli.client.call(vault.getItemDetail, { params })).body,
        stateOf: ({ analysis_status: status }) => status,
        hasEnded: ({ analysis_status: status }) => status !== "pending" && status !== "processing",
        lookWith: `croft vault item view ${toShellWord(item)}`,
      });
      const { analysis_status: status, unsupported_analysis_reason: reason } = ended;
      if (status === "ready")
        return cli.output.done({ ...body, analysis_status: status }, `${item} is analysed.`);
      const detail = describeMissingText(reason, undefined);
      const isUnsupported = status === "unsupported";
      throw new CliError(
        isUnsupported ? "unsupported" : "task_failed",
        `the analysis of ${item} ended as ${status}${detail === undefined ? "" : `: ${detail}`}`,
        { service: "vault", reason: reason ?? undefined },
      );
    },
  }),
];

const detailColumns: readonly Column<z.output<typeof itemDetail>>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "kind", cell: ({ kind }) => kind },
  { header: "location", cell: ({ location }) => location },
  { header: "connection", cell: ({ display_name: name }) => name },
  { header: "size", cell: (one) => size(one.size) },
  { header: "modified", cell: ({ modified_at: modifiedAt }) => time(modifiedAt) },
  { header: "type", cell: ({ content_type: contentType }) => contentType },
  { header: "etag", cell: ({ etag }) => etag },
  { header: "analysis", cell: ({ analysis_status: status }) => status },
  { header: "topics", cell: ({ topics }) => topics },
  { header: "stale", cell: ({ is_stale: isStale }) => isStale },
  {
    header: "missing text",
    cell: ({ unsupported_analysis_reason: reason, extracted_text: text }) =>
      describeMissingText(reason, text),
  },
  { header: "id", cell: ({ provider_item_id: id }) => id },
  { header: "text", cell: ({ extracted_text: text }) => text },
];

/** Writes chunks of UTF-8 text without the characters that a terminal acts on. */
function textWriter(cli: CliContext): (chunk: Uint8Array) => Promise<void> {
  const decoder = new TextDecoder();
  return (chunk) => cli.io.write(sanitizeText(decoder.decode(chunk, { stream: true })));
}

function isText(contentType: unknown): boolean {
  return /^(text\/|application\/(json|xml|yaml)\b)/.test(String(contentType ?? ""));
}
