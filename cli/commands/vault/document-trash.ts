import type { z } from "zod";
import type { documentEndpoints } from "../../../daemon/contract/vault/documents.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { type Column, size, time } from "../../output/cells.ts";
import { listOf, shape, unpagedList } from "../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../support/batch.ts";
import { command } from "../../tree/command.ts";
import type { Entry } from "../../tree/entry.ts";
import { withRetries } from "./item/transfer.ts";

const idsHelp = "documents in the trash: their ids or names; of equal names the last deleted one";

const outcomeColumns = [
  { header: "document", cell: ({ item }: { item: string }) => item },
  { header: "error", cell: ({ error }: { error?: { message: string } | null }) => error?.message },
] as const;

export const entries: readonly Entry[] = [
  command("list", "List the documents in your trash", {
    aliases: ["ls"],
    calls: [vault.listTrashedDocuments],
    output: listOf(vault.listTrashedDocuments, "items"),
    examples: [
      ["List what was deleted", "croft vault document trash list"],
      ["Print everything as JSON", "croft vault document trash list --all --json"],
    ],
    /** Prints the documents in the trash, last deleted first, with the times of their permanent deletion. */
    async run(cli) {
      await cli.output.list(vaultPages(cli.client, vault.listTrashedDocuments, { query: {} }), [
        { header: "id", cell: ({ id }) => id },
        { header: "name", cell: ({ filename }) => filename },
        { header: "size", cell: ({ size_bytes: bytes }) => size(bytes) },
        { header: "deleted", cell: ({ deleted_at: deleted }) => time(deleted) },
        { header: "kept until", cell: ({ expires_at: expires }) => time(expires) },
      ] satisfies readonly Column<WireTrashed>[]);
    },
  }),
  command("restore", "Restore documents from your trash", {
    args: { "<ids...>": idsHelp },
    calls: [vault.listTrashedDocuments, vault.restoreDocument],
    output: unpagedList({ ...resultFields, id: "string?", filename: "string?" }),
    examples: [
      [
        "Restore a document",
        "croft vault document trash restore 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8",
      ],
      [
        "Restore several",
        "croft vault document trash restore 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 01912d4c-77aa-7cc4-9c2e-0123456789ab",
      ],
    ],
    /** Restores documents with their topics, versions, shares and links. If some of several fail, the exit code is `partial`. */
    async run(cli, { ids }) {
      const calling = ids.length === 1 ? cli : withRetries(cli, await cli.progress());
      const outcomes = await runBatch(ids, async (word) => {
        const id = await findTrashedId(calling, word);
        const params = { document_id: id };
        const { body } = await calling.client.call(vault.restoreDocument, { params });
        return { id, filename: body.filename };
      });
      await finishBatch(cli, outcomes, "restored", outcomeColumns);
    },
  }),
  command("delete", "Delete documents in your trash permanently", {
    aliases: ["rm"],
    args: { "<ids...>": idsHelp },
    calls: [vault.listTrashedDocuments, vault.deleteTrashedDocument],
    output: unpagedList({ ...resultFields, id: "string?" }),
    destructive: true,
    examples: [
      [
        "Delete a document permanently",
        "croft vault document trash delete 01912d4c-77aa-7cc4-9c2e-0123456789ab --yes",
      ],
      [
        "Delete it by its id",
        "croft vault document trash delete 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --yes",
      ],
    ],
    async run(cli, { ids }) {
      const calling = ids.length === 1 ? cli : withRetries(cli, await cli.progress());
      const [first = ""] = ids;
      await cli.prompts.confirm(
        ids.length === 1
          ? `Delete ${first} permanently?`
          : `Delete these ${ids.length} documents permanently?`,
      );
      const outcomes = await runBatch(ids, async (word) => {
        const id = await findTrashedId(calling, word);
        await calling.client.call(vault.deleteTrashedDocument, { params: { document_id: id } });
        return { id };
      });
      await finishBatch(cli, outcomes, "deleted", outcomeColumns);
    },
  }),
  command("empty", "Delete everything in your trash permanently", {
    calls: [vault.emptyDocumentTrash],
    output: shape({ removed: "integer" }),
    destructive: true,
    examples: [
      ["Empty the trash", "croft vault document trash empty --yes"],
      ["Show the request only", "croft vault document trash empty --dry-run"],
    ],
    async run(cli) {
      await cli.prompts.confirm("Delete all documents in your trash permanently?");
      const { body } = await cli.client.call(vault.emptyDocumentTrash, {});
      const count = `${body.removed} ${body.removed === 1 ? "document was" : "documents were"}`;
      await cli.output.done({ ...body }, `The trash is empty. ${count} deleted.`);
    },
  }),
];

type WireTrashed = z.output<
  (typeof documentEndpoints.listTrashedDocuments)["replies"][200]
>["items"][number];

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const PAGE = 100;

/** Returns the id of a document in the trash that is given by its id or name. @throws CliError `not_found` */
async function findTrashedId(cli: CliContext, word: string): Promise<string> {
  if (UUID.test(word)) return word.toLowerCase();
  const name = word.normalize("NFC");
  for (let page = 1; ; page += 1) {
    const query = { page, per_page: PAGE };
    const { items } = (await cli.client.call(vault.listTrashedDocuments, { query })).body;
    const found = items.find(({ filename }) => filename === name);
    if (found !== undefined) return found.id;
    if (items.length < PAGE)
      throw new CliError("not_found", `${JSON.stringify(word)} is not in the trash`, {
        service: "vault",
        hint: '"croft vault document trash list" shows what is there',
      });
  }
}
