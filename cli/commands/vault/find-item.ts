import type { z } from "zod";
import type { listItems as listItemsEndpoint } from "../../../daemon/contract/vault/cloud-items.ts";
import type { item } from "../../../daemon/contract/vault/cloud-shapes.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import type { WireConnection } from "./connection/connection-columns.ts";
import { pickConnection, readConnections } from "./find-connection.ts";
import { usageError } from "../../errors.ts";
import { type ItemAddress, noSuchItem, toItemAddress } from "./item-address.ts";

export const listItems = operation<typeof listItemsEndpoint>(
  "vault.cloud.items.list",
  "GET",
  "/api/cloud/connections/:connection_id/items",
);

export type WireItem = z.output<typeof item>;

/** Where an address leads. `item` is undefined for the root of a connection and for an item given by its id. */
export interface FoundItem {
  readonly connection: WireConnection;
  /** The provider's id; empty for the root. */
  readonly id: string;
  readonly item: WireItem | undefined;
}

/** Looks items up, each folder and connection once for the whole run. */
export interface ItemFinder {
  /** @throws CliError `not_found` */
  find(address: ItemAddress): Promise<FoundItem>;
  /** The item, or undefined when its folder has none of that name. */
  findIfThere(address: ItemAddress): Promise<FoundItem | undefined>;
}

/** The item that a word names. @throws CliError `not_found`, or `usage` for the top of a connection, which is no item */
export async function findItem(finder: ItemFinder, word: string): Promise<FoundItem> {
  const found = await finder.find(toItemAddress(word));
  if (found.id !== "") return found;
  throw usageError(`${word} is the whole storage`, "name an item in it: CONNECTION:/path");
}

export function createItemFinder(cli: CliContext): ItemFinder {
  let connections: Promise<readonly WireConnection[]> | undefined;
  const looked = new Map<string, Promise<WireItem | undefined>>();

  const finder: ItemFinder = {
    async find(address) {
      const found = await finder.findIfThere(address);
      if (found !== undefined) return found;
      if (address.kind === "path")
        throw noSuchItem(address.connection, address.path, address.isFolder);
      throw noSuchItem(address.connection ?? "", [address.id]);
    },
    async findIfThere(address) {
      connections ??= readConnections(cli);
      const connection = pickConnection(await connections, address.connection);
      if (address.kind === "id") return { connection, id: address.id, item: undefined };
      let found: FoundItem = { connection, id: "", item: undefined };
      for (const name of address.path) {
        if (found.item?.kind === "file") return undefined;
        const item = await look(connection.id, found.id, name);
        if (item === undefined) return undefined;
        found = { connection, id: item.provider_item_id, item };
      }
      // A slash at the end is no part of a file's name.
      return address.isFolder && found.item?.kind === "file" ? undefined : found;
    },
  };
  return finder;

  function look(connectionId: string, parent: string, name: string) {
    const key = JSON.stringify([connectionId, parent, name]);
    const known = looked.get(key) ?? lookUp(connectionId, parent, name);
    looked.set(key, known);
    return known;
  }

  /** A listing may be some minutes old, so what it does not have is looked for once more at the provider. */
  async function lookUp(connectionId: string, parent: string, name: string) {
    for (const refresh of ["false", "true"] as const) {
      const { body } = await cli.client.call(listItems, {
        params: { connection_id: connectionId },
        query: { parent_ref: parent, name, limit: 1, refresh },
      });
      const [found] = body.items;
      if (found !== undefined) return found;
    }
    return undefined;
  }
}
