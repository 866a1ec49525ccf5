import type { z } from "zod";
import type { document } from "../../daemon/contract/vault/documents.ts";
import { vault } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";

type Listed = Pick<z.output<typeof document>, "id" | "filename">;

/** The operations that finding a document calls. */
export const findDocumentOperations = [vault.listDocuments, vault.listReceivedShares] as const;

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const PAGE = 100;
/**
 * The index has the name of a document once its text was extracted; younger ones are found among the newest documents.
 */
const PAGES_MAX = 10;

/**
 * Returns the id of a document that is given by its id or its whole name, among the caller's own and, with `received`, those
 * shared with the caller. An id costs no request. @throws CliError `not_found`, or `usage` when several have the name
 */
export async function findDocumentId(
  cli: CliContext,
  word: string,
  { received = false }: { readonly received?: boolean } = {},
): Promise<string> {
  if (UUID.test(word)) return word.toLowerCase();
  const name = word.normalize("NFC");
  const own = await findOwn(cli, name);
  const found = own.length > 0 || !received ? own : await findReceived(cli, name);
  const [first, ...others] = found;
  if (first === undefined)
    throw new CliError("not_found", `there is no document ${JSON.stringify(word)}`, {
      service: "vault",
      hint: '"croft vault document list" shows your documents',
    });
  if (others.length > 0)
    // In the message: a batch shows it beside the name, without the hint.
    throw new CliError(
      "usage",
      `${found.length} documents are named ${JSON.stringify(word)}; give one of their ids: ${found.map(({ id }) => id).join(", ")}`,
    );
  return first.id;
}

async function findOwn(cli: CliContext, name: string): Promise<readonly Listed[]> {
  const fits = ({ filename }: Listed) => filename === name;
  const read = async (query: { readonly q?: string; readonly page: number }) =>
    (await cli.client.call(vault.listDocuments, { query: { ...query, per_page: PAGE } })).body;
  const phrase = name.replace(/"/g, " ").trim().slice(0, 900);
  const matched = phrase === "" ? [] : (await read({ q: `"${phrase}"`, page: 1 })).items;
  const byIndex = matched.filter(fits);
  if (byIndex.length > 0) return byIndex;
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const { items } = await read({ page });
    const byName = items.filter(fits);
    if (byName.length > 0 || items.length < PAGE) return byName;
  }
  return [];
}

async function findReceived(cli: CliContext, name: string): Promise<readonly Listed[]> {
  const query = { page: 1, per_page: PAGE };
  const { body } = await cli.client.call(vault.listReceivedShares, { query });
  return body.items
    .filter(({ filename }) => filename === name)
    .map(({ document_id: id, filename }) => ({ id, filename }));
}
