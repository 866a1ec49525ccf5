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
  const wanted = { page: undefined, limit: undefined, all: true };
  for await (const page of readPages(vaultPages(cli.client, vault.listConnections, {}), wanted))
    connections.push(...page.items);
  return connections;
}

/**
 * The connection with this id or name; without a word, the only one. Names are compared exactly first, then without
 * case. @throws CliError `not_found`, or `usage` when several fit
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
  ].find((found) => found.length > 0);
  const [found, ...others] = fits ?? [];
  if (found === undefined)
    throw new CliError("not_found", `there is no connection ${JSON.stringify(word)}`, {
      hint:
        connections.length === 0
          ? '"croft vault connection add" makes one'
          : `the connections are: ${names}`,
    });
  if (others.length > 0)
    throw new CliError("usage", `several connections are called ${JSON.stringify(word)}`, {
      hint: "name it by its id",
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
