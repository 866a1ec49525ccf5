import { vault } from "../../../client/operations.ts";
import { vaultPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import { readPages } from "../../../output/pages.ts";

/** The id of a user who is named by id or by handle, in any case. @throws CliError `not_found` */
export async function findUserId(cli: CliContext, word: string): Promise<string> {
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(word)) return word.toLowerCase();
  const source = vaultPages(cli.client, vault.listUsers, { query: { q: word } });
  for await (const { items } of readPages(source, { page: undefined, limit: undefined, all: true }))
    for (const { id, handle } of items) if (handle.toLowerCase() === word.toLowerCase()) return id;
  throw new CliError("not_found", `there is no vault user ${JSON.stringify(word)}`, {
    service: "vault",
    hint: '"croft vault admin user list" shows them',
  });
}
