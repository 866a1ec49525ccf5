import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { readConnections } from "../../support/connection.ts";
import { toPathAddress, createItemFinder } from "../../support/items.ts";
import type { VaultValueKind } from "../../tree/entry.ts";
import type { ValueFinder } from "./forge-values.ts";
import type { Candidate } from "./question.ts";

/** One page. A shell shows no more values; more typing narrows them. */
const PAGE = { per_page: 100 };

/** Finds values of each kind. */
export const vaultValues: Readonly<Record<VaultValueKind, ValueFinder>> = {
  async accounts({ client }) {
    const { body } = await client.call(vault.listUsers, { query: PAGE });
    return body.items.map(({ handle: value, email: description }) => ({ value, description }));
  },
  async connections(cli) {
    return (await readConnections(cli)).map(({ display_name: value, provider }) => ({
      value,
      description: provider,
    }));
  },
  items: listItems,
  transfers: listItems,
  async documents({ client }) {
    const { body } = await client.call(vault.listDocuments, { query: PAGE });
    return body.items.map(({ id: value, filename: description }) => ({ value, description }));
  },
  async shares(cli) {
    return (await listShares(cli)).map(({ id, recipient_handle: handle }) => ({
      value: id,
      description: `with ${handle}`,
    }));
  },
  async handles(cli) {
    const handles = (await listShares(cli)).map((share) => share.recipient_handle);
    return [...new Set(handles)].map((value) => ({ value, description: "" }));
  },
  async topics({ client }) {
    const { body } = await client.call(vault.listTopics);
    return body.items.map(({ name: value, description }) => ({ value, description }));
  },
  async vault_tokens({ client }) {
    const { body } = await client.call(vault.listTokens);
    return body.items.map(({ name: value, scope: description }) => ({ value, description }));
  },
  async sessions({ client }) {
    const { body } = await client.call(vault.listSessions);
    return body.items.map(({ id: value, user_agent: description }) => ({
      value,
      description: description ?? "",
    }));
  },
};

async function listShares({ client }: CliContext) {
  return (await client.call(vault.listShares, { query: PAGE })).body.items;
}

/** Lists connections, then the items of the folder that the typed word names. */
async function listItems(
  cli: CliContext,
  { typed }: { readonly typed: string },
): Promise<readonly Candidate[]> {
  if (!typed.includes(":/"))
    return (await readConnections(cli)).map(({ display_name: name, provider }) => ({
      value: `${name}:/`,
      description: provider,
    }));
  const above = typed.slice(0, typed.lastIndexOf("/") + 1);
  const { connection, id } = await createItemFinder(cli).find(toPathAddress(above));
  const { body } = await cli.client.call(vault.listItems, {
    params: { connection_id: connection.id },
    query: { parent_ref: id, limit: 1000 },
  });
  return body.items.map(({ name, kind }) => ({
    value: `${above}${name}${kind === "folder" ? "/" : ""}`,
    description: kind,
  }));
}
