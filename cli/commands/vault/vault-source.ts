import { vault } from "../../client/operations.ts";
import type { ByteDownload } from "../../client/bytes.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { findDocumentId, findDocumentOperations } from "../../support/find-document.ts";
import { createItemFinder, toItemAddress } from "../../support/items.ts";
import { findSource, isFolder } from "./item/lookup.ts";
import type { Content } from "./item/send-file.ts";

/** The operations that `openVaultSource` calls. */
export const vaultSourceOperations = [
  ...findDocumentOperations,
  vault.getDocument,
  vault.getDocumentContent,
  vault.listConnections,
  vault.listItems,
  vault.getItemDetail,
  vault.downloadItem,
] as const;

/** A file of the vault that another service gets. */
export interface NamedContent {
  readonly name: string;
  readonly content: Content;
}

/**
 * Opens a file of the vault: an item, given as `CONNECTION:/path`, or a document by its id or name. Its bytes are streamed and
 * can be read once. @throws CliError `not_found`, or `unsupported` for a folder
 */
export async function openVaultSource(cli: CliContext, word: string): Promise<NamedContent> {
  if (word.includes(":")) return openItem(cli, word);
  const id = await findDocumentId(cli, word, { received: true });
  const params = { document_id: id };
  const { filename } = (await cli.client.call(vault.getDocument, { params })).body;
  if (cli.flags.dryRun) return { name: filename, content: unopened };
  const download = await cli.client.download(vault.getDocumentContent, { params });
  return { name: filename, content: toContent(download) };
}

async function openItem(cli: CliContext, word: string): Promise<NamedContent> {
  const found = await findSource(cli, createItemFinder(cli), toItemAddress(word));
  const { item } = found;
  if (item === undefined && !isFolder(found))
    throw new CliError("not_found", `the vault has no item ${word}`, {
      hint: "items are written CONNECTION:/path or CONNECTION:ID",
    });
  if (item === undefined || item.kind === "folder")
    throw new CliError("unsupported", `${word} is a folder`, { hint: "name one of its files" });
  if (cli.flags.dryRun) return { name: item.name, content: unopened };
  const params = { connection_id: found.connection.id, item_id: found.id };
  return {
    name: item.name,
    content: toContent(await cli.client.download(vault.downloadItem, { params })),
  };
}

/** Returns a download as the content of an upload. */
export function toContent({ size, stream }: Pick<ByteDownload, "size" | "stream">): Content {
  // A stream that fails before its reader comes must not end the process; the reader gets the failure.
  stream.on("error", () => undefined);
  return { size, canRestart: false, open: () => stream, close: () => void stream.destroy() };
}

/** A dry run sends nothing, so it opens nothing. */
const unopened: Content = {
  size: undefined,
  canRestart: false,
  open() {
    throw new Error("a dry run reads no bytes");
  },
};
