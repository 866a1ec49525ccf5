import type { z } from "zod";
import type { connection } from "../../daemon/contract/vault/cloud/shapes.ts";
import { vault } from "../client/operations.ts";
import { vaultPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { type Column, size, time } from "../output/cells.ts";
import { readPages } from "../output/pages.ts";

/** All connections of the caller. */
export async function readConnections(cli: CliContext): Promise<readonly WireConnection[]> {
  const connections: WireConnection[] = [];
  const flags = { page: undefined, limit: undefined, all: true };
  for await (const page of readPages(vaultPages(cli.client, vault.listConnections, {}), flags))
    connections.push(...page.items);
  return connections;
}

/**
 * The connection with this id or name; without a word, the only one. Names are compared exactly first, then without
 * case; a unique prefix of an id and `NAME:/` are accepted too. @throws CliError `not_found`, or `usage` when several
 * fit
 */
export function pickConnection(
  connections: readonly WireConnection[],
  word: string | undefined,
): WireConnection {
  const names = connections.map(({ display_name: name }) => name).join(", ");
  if (word === undefined) {
    const [only, ...others] = connections;
    if (only !== undefined && others.length === 0) return only;
    throw new CliError("usage", "the item's connection is missing", {
      hint: `write CONNECTION:/path; the connections are: ${names}`,
    });
  }
  const fits = [
    connections.filter(({ id }) => id === word.toLowerCase()),
    connections.filter(({ display_name: name }) => name === word),
    connections.filter(({ display_name: name }) => name.toLowerCase() === word.toLowerCase()),
    /^[\da-f]{4}[\da-f-]*$/i.test(word)
      ? connections.filter(({ id }) => id.startsWith(word.toLowerCase()))
      : [],
  ].find((found) => found.length > 0);
  const [found, ...others] = fits ?? [];
  // The address of a connection's root names the connection, too.
  const isAddress = /.:\/?$/.test(word);
  if (found === undefined && isAddress)
    return pickConnection(connections, word.replace(/:\/?$/, ""));
  if (found === undefined)
    throw new CliError("not_found", `there is no connection ${JSON.stringify(word)}`, {
      hint:
        connections.length === 0
          ? '"croft vault connection add" makes one'
          : `the connections are: ${names}`,
    });
  if (others.length > 0)
    throw new CliError("usage", `${JSON.stringify(word)} names several connections`, {
      hint: `name one by its id: ${[found, ...others].map(({ id, provider }) => `${id} (${provider})`).join(", ")}`,
    });
  return found;
}

export type WireConnection = z.output<typeof connection>;

/** A connection in a table. */
export const connectionColumns: readonly Column<WireConnection>[] = [
  { header: "name", cell: ({ display_name: name }) => name },
  { header: "provider", cell: ({ provider }) => provider },
  { header: "status", cell: ({ status }) => status },
  { header: "used", cell: ({ quota }) => size(quota?.used_bytes) },
  { header: "total", cell: ({ quota }) => size(quota?.total_bytes) },
  { header: "checked", cell: ({ last_checked_at: checkedAt }) => time(checkedAt) },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "id", cell: ({ id }) => id },
];

type Capabilities = NonNullable<WireConnection["capabilities"]>;

/** The capabilities of a storage, line by line. */
export const capabilityColumns: readonly Column<Capabilities>[] = [
  { header: "create only", cell: (one) => one.create_only },
  { header: "rename", cell: (one) => one.rename },
  { header: "move", cell: (one) => one.move },
  { header: "delete precondition", cell: (one) => one.delete_precondition },
  { header: "replace precondition", cell: (one) => one.replace_precondition },
  { header: "trash", cell: (one) => one.trash },
  { header: "range", cell: (one) => one.range },
  { header: "quota", cell: (one) => one.quota },
  { header: "folder rename", cell: (one) => one.folder_rename },
];

/** A single connection with the capabilities of its storage. */
export const connectionDetailColumns: readonly Column<WireConnection>[] = [
  ...connectionColumns,
  ...capabilityColumns.map(({ header, cell }): Column<WireConnection> => ({
    header,
    // An earlier daemon does not send them.
    cell: ({ capabilities }) => (capabilities ? cell(capabilities) : null),
  })),
];
