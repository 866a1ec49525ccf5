import { vault } from "../../../client/operations.ts";
import { usageError } from "../../../errors.ts";
import { type Column, size, time } from "../../../output/cells.ts";
import { unpagedList } from "../../../output/spec.ts";
import { createItemFinder, type WireItem } from "../../../support/items.ts";
import { findFolder, readFolder } from "./lookup.ts";
import { withRetries } from "./transfer.ts";
import { commandDetails } from "../../../tree/command.ts";

/** One change of a folder. */
interface ItemChange {
  readonly event: "added" | "changed" | "removed";
  readonly name: string;
  readonly kind: string;
  readonly size: number | null;
  readonly modified_at: string | null;
  readonly provider_item_id: string;
}

export const watch = commandDetails({
  args: { "<folder>": "CONNECTION:/path, or a folder's id; CONNECTION:/ is the top" },
  flags: {
    "--interval <seconds>": {
      help: "time between two listings, 2 to 3600",
      parse: toSeconds,
      default: 10,
    },
  },
  calls: [vault.listConnections, vault.listItems, vault.getItemDetail],
  output: unpagedList({
    event: "string",
    name: "string",
    kind: "string",
    size: "integer?",
    modified_at: "string?",
    provider_item_id: "string",
  }),
  completions: { folder: "items" },
  examples: [
    ["Print changes every ten seconds", "croft vault item watch Papers:/2026"],
    ["Print one object a line", "croft vault item watch Papers:/2026 --ndjson"],
  ],
  /**
   * Polls the listing of a folder at the provider and prints changes until it is stopped. A listing that fails is
   * skipped: the next one that succeeds shows the changes.
   */
  async run(cli, { folder, interval }) {
    const retrying = withRetries(cli, await cli.progress());
    const { connection, id } = await findFolder(retrying, createItemFinder(retrying), folder);
    await cli.output.stream(changes(), columns);

    async function* changes(): AsyncGenerator<ItemChange> {
      let known = await read();
      for (;;) {
        await cli.system.sleep(interval * 1000, cli.signal);
        const now = await read();
        if (now === undefined) continue;
        if (known !== undefined) yield* compare(known, now);
        known = now;
      }
    }

    /** Returns the items of the folder, or undefined when the provider could not list them. */
    async function read(): Promise<ReadonlyMap<string, WireItem> | undefined> {
      const { items, failure } = await readFolder(retrying, connection.id, id, true);
      if (failure === undefined) return new Map(items.map((item) => [item.provider_item_id, item]));
      if (!cli.output.isMachine) cli.io.note(`The folder could not be listed: ${failure.message}`);
      return undefined;
    }
  },
});

function* compare(
  before: ReadonlyMap<string, WireItem>,
  now: ReadonlyMap<string, WireItem>,
): Generator<ItemChange> {
  for (const [id, item] of before) if (!now.has(id)) yield toChange("removed", item);
  for (const [id, item] of now) {
    const earlier = before.get(id);
    if (earlier === undefined) yield toChange("added", item);
    else if (markOf(earlier) !== markOf(item)) yield toChange("changed", item);
  }
}

/** Returns a value that changes with the item, but not with the content of a folder. */
function markOf({ name, kind, size: bytes, etag, modified_at: at }: WireItem): string {
  return JSON.stringify(kind === "folder" ? [name, kind] : [name, kind, bytes, etag, at]);
}

function toChange(event: ItemChange["event"], item: WireItem): ItemChange {
  const { name, kind, size: bytes, modified_at: modifiedAt, provider_item_id: id } = item;
  return { event, name, kind, size: bytes, modified_at: modifiedAt, provider_item_id: id };
}

const columns: readonly Column<ItemChange>[] = [
  { header: "event", cell: ({ event }) => event },
  { header: "kind", cell: ({ kind }) => kind },
  { header: "name", cell: ({ name }) => name },
  { header: "size", cell: (one) => size(one.size) },
  { header: "modified", cell: ({ modified_at: at }) => time(at) },
];

/** Reads `--interval`. @throws CliError `usage` */
export function toSeconds(text: string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= 2 && seconds <= 3600) return seconds;
  throw usageError(`--interval takes a number from 2 to 3600, not ${JSON.stringify(text)}`);
}
