import type { z } from "zod";
import { toShellWord } from "../../../output/shell-word.ts";
import type { cloudTrashEndpoints } from "../../../../daemon/contract/vault/cloud/trash.ts";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import { type Column, size, time } from "../../../output/cells.ts";
import type { PageSource } from "../../../output/pages.ts";
import { listOf, shape, unpagedList } from "../../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../../support/batch.ts";
import {
  pickConnection,
  readConnections,
  type WireConnection,
} from "../../../support/connection.ts";
import { toItemAddress } from "../../../support/items.ts";
import type { Entry } from "../../../tree/entry.ts";
import { withRetries } from "./transfer.ts";
import { command } from "../../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List deleted items that can be restored", {
    aliases: ["ls"],
    args: { "<connection>": "the connection's name or id" },
    calls: [vault.listConnections, vault.listTrash],
    output: listOf(vault.listTrash, "items"),
    completions: { connection: "connections" },
    examples: [
      ["List what was deleted", "croft vault item trash list Papers"],
      ["Print everything as JSON", "croft vault item trash list Papers --all --json"],
    ],
    /** Prints the deleted items that the provider of a connection keeps. */
    async run(cli, { connection }) {
      const { id } = pickConnection(await readConnections(cli), connection);
      await cli.output.list(toPages(cli, id), trashColumns);
    },
  }),
  command("restore", "Restore deleted items", {
    args: {
      "<items...>":
        'CONNECTION:/path that the item had, or CONNECTION:ID with an id of "trash list"',
    },
    calls: [vault.listConnections, vault.listTrash, vault.restoreTrashed],
    output: unpagedList({
      ...resultFields,
      kind: "string?",
      provider_item_id: "string?",
      name: "string?",
      parent_ref: "string?",
    }),
    examples: [
      ["Restore a file", "croft vault item trash restore Papers:/2026/old.pdf"],
      ["Show the request only", "croft vault item trash restore Papers:t1 --dry-run"],
    ],
    /**
     * Restores items under their old names in their old folders, one after the other. If several deleted items have one path,
     * the last deleted one is restored.
     */
    async run(cli, { items }) {
      const retrying = items.length === 1 ? cli : withRetries(cli, await cli.progress());
      const connections = await readConnections(retrying);
      const results = await runBatch(items, async (word) => {
        const address = toItemAddress(word);
        const connection = pickConnection(connections, address.connection);
        const trashId =
          address.kind === "id"
            ? address.id
            : await findTrashed(retrying, connection, address.path);
        const restoring = retrying.client.call(vault.restoreTrashed, {
          params: { connection_id: connection.id },
          body: { trash_id: trashId },
        });
        return (await restoring.catch(explainRestore(word, connection))).body;
      });
      await finishBatch(cli, results, "restored", [
        { header: "restored", cell: ({ item }) => item },
        { header: "name", cell: ({ name }) => name },
        { header: "id", cell: ({ provider_item_id: id }) => id },
        { header: "error", cell: ({ error }) => error?.message },
      ]);
    },
  }),
  command("empty", "Remove all deleted items permanently", {
    args: { "<connection>": "the connection's name or id" },
    calls: [vault.listConnections, vault.emptyTrash],
    output: shape({ kind: "string", removed: "integer?", has_more: "boolean" }),
    completions: { connection: "connections" },
    destructive: true,
    examples: [
      ["Remove all deleted items permanently", "croft vault item trash empty Papers --yes"],
      ["Show the request only", "croft vault item trash empty Papers --dry-run"],
    ],
    /** Permanently deletes everything in the trash of a connection, in as many requests as the provider needs. */
    async run(cli, { connection }) {
      const { id, display_name: name } = pickConnection(await readConnections(cli), connection);
      await cli.prompts.confirm(`Remove all deleted items of ${name} permanently?`);
      const retrying = withRetries(cli, await cli.progress());
      let removed: number | null = 0;
      for (;;) {
        const { body } = await retrying.client.call(vault.emptyTrash, {
          params: { connection_id: id },
        });
        removed = removed === null || body.removed === null ? null : removed + body.removed;
        if (body.has_more && body.removed !== 0) continue;
        if (body.has_more)
          throw new CliError("provider_failed", `the storage did not empty the trash of ${name}`, {
            service: "vault",
          });
        const count =
          removed === null
            ? ""
            : ` ${removed} ${removed === 1 ? "item was" : "items were"} removed.`;
        await cli.output.done({ ...body, removed }, `The trash of ${name} is empty.${count}`);
        return;
      }
    },
  }),
];

type TrashPage = z.output<(typeof cloudTrashEndpoints.listTrash)["replies"][200]>;

type WireTrashed = TrashPage["items"][number];

/**
 * The pages follow each other by a cursor, so a later page is reached through those before it. The provider decides how many
 * items one answer has: pages of `limit` items are cut from them.
 */
function toPages(cli: CliContext, connectionId: string): PageSource<WireTrashed> {
  let cursor: string | undefined;
  let isEnd = false;
  let waiting: readonly WireTrashed[] = [];
  const read = async (limit: number | undefined) => {
    while (!isEnd && waiting.length < (limit ?? 1)) {
      const { body } = await readTrash(cli, connectionId, cursor);
      cursor = body.next_cursor ?? undefined;
      isEnd = cursor === undefined;
      waiting = [...waiting, ...body.items];
    }
    const items = waiting.slice(0, limit);
    waiting = waiting.slice(items.length);
    const hasMore = waiting.length > 0 || !isEnd;
    return { items, page: null, limit: limit ?? null, total: null, hasMore };
  };
  return {
    async first({ page = 1, limit }) {
      let at = await read(limit);
      for (let number = 1; number < page; number++) at = await read(limit);
      return at;
    },
    next: ({ limit }) => read(limit ?? undefined),
  };
}

function readTrash(cli: CliContext, connectionId: string, cursor: string | undefined) {
  return cli.client.call(vault.listTrash, {
    params: { connection_id: connectionId },
    query: { cursor },
  });
}

const trashColumns: readonly Column<WireTrashed>[] = [
  { header: "deleted", cell: ({ deleted_at: deletedAt }) => time(deletedAt) },
  { header: "kind", cell: ({ kind }) => kind },
  { header: "name", cell: ({ name }) => name },
  { header: "location", cell: ({ location }) => location },
  { header: "size", cell: (item) => size(item.size) },
  { header: "id", cell: ({ trash_id: id }) => id },
];

/** @throws CliError `not_found` */
async function findTrashed(
  cli: CliContext,
  { id, display_name: name }: WireConnection,
  path: readonly string[],
): Promise<string> {
  const location = path.length < 2 ? "/" : `/${path.slice(0, -1).join("/")}`;
  let found: WireTrashed | undefined;
  let cursor: string | undefined;
  do {
    const { body } = await readTrash(cli, id, cursor);
    for (const item of body.items) {
      const isIt = item.location === location && item.name === path.at(-1);
      if (isIt && (found === undefined || (item.deleted_at ?? "") > (found.deleted_at ?? "")))
        found = item;
    }
    cursor = body.next_cursor ?? undefined;
  } while (cursor !== undefined);
  if (found !== undefined) return found.trash_id;
  throw new CliError("not_found", `/${path.join("/")} is not in the trash of ${name}`, {
    service: "vault",
    hint: `"croft vault item trash list ${toShellWord(name)}" shows what is there`,
  });
}

/** To a restore, "stale" means that the item has left the trash or that its folder is missing. */
function explainRestore(
  word: string,
  { display_name: name }: WireConnection,
): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof CliError) || error.code !== "stale") throw error;
    throw new CliError("stale", `${word} is not in the trash any more, or its folder is missing`, {
      ...error.details,
      hint: `"croft vault item trash list ${toShellWord(name)}" shows its location, "croft vault item mkdir" creates the folder`,
    });
  };
}
