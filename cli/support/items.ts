import type { z } from "zod";
import { CliError, usageError } from "../errors.ts";
import type { item, listing } from "../../daemon/contract/vault/cloud/shapes.ts";
import { vault } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import type { CliErrorCode } from "../exit-codes.ts";
import { pickConnection, readConnections, type WireConnection } from "./connection.ts";

/**
 * The address of an item on the command line: `CONNECTION:/path/to/file` by its path, `CONNECTION:ID` by the provider's
 * id, `ID` alone when there is only one connection.
 */
export type ItemAddress =
  | {
      readonly kind: "path";
      readonly connection: string;
      readonly path: readonly string[];
      readonly isFolder: boolean;
    }
  | { readonly kind: "id"; readonly connection: string | undefined; readonly id: string };

/** Reads an item's name. @throws CliError `usage` */
export function toItemAddress(word: string): ItemAddress {
  const slash = word.indexOf(":/");
  if (slash > 0) {
    const path = word
      .slice(slash + 2)
      .split("/")
      .filter((segment) => segment !== "" && segment !== ".");
    if (path.includes(".."))
      throw usageError(
        `${JSON.stringify(word)} contains "..", which is not allowed`,
        "write the path from the root",
      );
    // A slash at the end means a folder.
    const isFolder = word.endsWith("/");
    return { kind: "path", connection: word.slice(0, slash), path, isFolder };
  }
  const colon = word.indexOf(":");
  const id = colon > 0 ? word.slice(colon + 1) : word;
  if (id === "")
    throw usageError(
      `${JSON.stringify(word)} names no item`,
      colon > 0
        ? `write ${word}/ for its root, ${word}/path for an item in it`
        : "write CONNECTION:/path",
    );
  return { kind: "id", connection: colon > 0 ? word.slice(0, colon) : undefined, id };
}

/**
 * Returns whether a word is an address with a connection rather than a local path. Paths that begin with a dot, a
 * slash or a tilde are local; on Windows so is a letter with a colon, which is a drive there.
 */
export function isConnectionAddress(word: string, platform: NodeJS.Platform): boolean {
  if (platform === "win32" && /^[A-Za-z]:/.test(word)) return false;
  return /^[^./~\\][^/\\]*:/.test(word);
}

/** Parses an address that must be a path, such as that of a new folder. */
export function toPathAddress(word: string): Extract<ItemAddress, { kind: "path" }> {
  const address = toItemAddress(word);
  if (address.kind === "path") return address;
  throw usageError(
    `${JSON.stringify(word)} is not a path of a connection`,
    "write CONNECTION:/path",
  );
}

/** Formats an address. */
export function toAddressText(connection: string, path: readonly string[]): string {
  return `${connection}:/${path.join("/")}`;
}

/** Returns the error for a missing item. `found` is the number of existing folders of the path. */
export function noSuchItem(
  connection: string,
  path: readonly string[],
  isFolder = false,
  found = path.length - 1,
): CliError {
  const slash = isFolder && path.length > 0 ? "/" : "";
  const above = toAddressText(connection, path.slice(0, Math.max(0, found)));
  return new CliError("not_found", `there is no ${toAddressText(connection, path)}${slash}`, {
    service: "vault",
    hint: /[*?[]/.test(path.at(-1) ?? "")
      ? "patterns are not matched: name each item, or a folder with --recursive"
      : `"croft vault item list ${above}" shows what is there`,
  });
}

export type WireItem = z.output<typeof item>;

/** The target of an address. `item` is undefined for the root of a connection and for an item given by its id. */
export interface FoundItem {
  readonly connection: WireConnection;
  /** The provider's id; empty for the root. */
  readonly id: string;
  readonly item: WireItem | undefined;
}

/** Looks up items. Remembers folders and connections for the whole run. */
export type ItemFinder = ReturnType<typeof createItemFinder>;

/**
 * Returns the item that a word names. @throws CliError `not_found`, or `usage` for the root of a connection, which is
 * not an item
 */
export async function findItem(finder: ItemFinder, word: string): Promise<FoundItem> {
  const found = await finder.find(toItemAddress(word));
  if (found.id !== "") return found;
  throw usageError(`${word} is the whole storage`, "name an item in it: CONNECTION:/path");
}

/** @param isFresh each folder of a path is listed at the provider: the last listing may name one that is gone */
export function createItemFinder(
  cli: CliContext,
  { isFresh = false }: { readonly isFresh?: boolean } = {},
) {
  let connections: Promise<readonly WireConnection[]> | undefined;
  const looked = new Map<string, Promise<WireItem | undefined>>();

  const finder = {
    /**
     * @throws CliError `not_found`; `usage` where several items have one name; the provider's failure when its listing
     * could not be fetched
     */
    async find(address: ItemAddress): Promise<FoundItem> {
      const found = await finder.findIfThere(address);
      if (found !== undefined) return found;
      if (address.kind === "path") {
        // All folders are cached, so this sends no requests.
        let depth = address.path.length - 1;
        while (depth > 0) {
          const path = address.path.slice(0, depth);
          if ((await finder.findIfThere({ ...address, path, isFolder: true })) !== undefined) break;
          depth -= 1;
        }
        throw noSuchItem(address.connection, address.path, address.isFolder, depth);
      }
      throw noSuchItem(address.connection ?? "", [address.id]);
    },
    /** The item, or undefined when its folder has no item of that name. */
    async findIfThere(address: ItemAddress): Promise<FoundItem | undefined> {
      connections ??= readConnections(cli);
      const connection = pickConnection(await connections, address.connection);
      if (address.kind === "id") return { connection, id: address.id, item: undefined };
      let found: FoundItem = { connection, id: "", item: undefined };
      for (const name of address.path) {
        if (found.item?.kind === "file") return undefined;
        const item = await look(connection, found.id, name);
        if (item === undefined) return undefined;
        found = { connection, id: item.provider_item_id, item };
      }
      // A slash at the end is not part of a file's name.
      return address.isFolder && found.item?.kind === "file" ? undefined : found;
    },
  };
  return finder;

  function look(connection: WireConnection, parent: string, name: string) {
    const key = JSON.stringify([connection.id, parent, name]);
    const known = looked.get(key) ?? lookUp(connection, parent, name);
    looked.set(key, known);
    return known;
  }

  /** A listing may be minutes old, so a missing item is looked up again at the provider. */
  async function lookUp(connection: WireConnection, parent: string, name: string) {
    for (const refresh of isFresh ? (["true"] as const) : (["false", "true"] as const)) {
      const { body } = await cli.client.call(vault.listItems, {
        params: { connection_id: connection.id },
        query: { parent_ref: parent, name, limit: namesakesShown, refresh },
      });
      const [found, ...others] = body.items;
      if (others.length > 0) throw severalItems(connection, name, body.items);
      if (found !== undefined) return found;
      // A storage may hold the name in another Unicode form than the one that was typed.
      const forms = new Set([name.normalize("NFC"), name.normalize("NFD")]);
      forms.delete(name);
      for (const form of forms) {
        const other = await cli.client.call(vault.listItems, {
          params: { connection_id: connection.id },
          query: { parent_ref: parent, name: form, limit: namesakesShown, refresh: "false" },
        });
        const [twin, ...more] = other.body.items;
        if (more.length > 0) throw severalItems(connection, name, other.body.items);
        if (twin !== undefined) return twin;
      }
      // A failed lookup does not mean that the item is missing.
      const failure = findListingFailure(body);
      if (failure !== undefined) throw failure;
    }
    return undefined;
  }
}

/** Returns the error of a listing that the provider could not refresh; undefined when it could. */
export function findListingFailure(
  body: Pick<z.output<typeof listing>, "refresh_state" | "error_code" | "error_message">,
): CliError | undefined {
  if (body.refresh_state !== "failed") return undefined;
  const { code, hint } = failures[body.error_code ?? ""] ?? fallback;
  const message = body.error_message ?? "the provider could not list this folder";
  return new CliError(code, message, { service: "vault", hint });
}

const later = 'try again later; "croft vault connection test" checks the storage';

const fallback: { readonly code: CliErrorCode; readonly hint: string } = {
  code: "provider_failed",
  hint: later,
};

const failures: Readonly<Record<string, typeof fallback>> = {
  offline: { code: "provider_offline", hint: later },
  reauth_required: {
    code: "reauth_required",
    hint: '"croft vault connection reconnect" renews the connection\'s credentials',
  },
};

const namesakesShown = 5;

/** Returns the error for a name that several items share, which some providers allow. */
function severalItems(
  { display_name: connection }: WireConnection,
  name: string,
  items: readonly WireItem[],
): CliError {
  const ids = items.map(({ provider_item_id: id }) => `${connection}:${id}`);
  return new CliError("usage", `several items are called ${JSON.stringify(name)}`, {
    service: "vault",
    hint: `name the one that is meant by its id: ${ids.join(", ")}`,
  });
}
