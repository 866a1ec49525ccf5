import fc from "fast-check";
import { expect, test } from "vitest";
import type { VaultCaller } from "../../daemon/vault/caller.ts";
import type { CloudProvider } from "../../storage/cloud/provider.ts";
import type { ConnectionId } from "../../storage/tables/vault/ids.ts";
import { createMemoryStorage } from "../support/cloud/memory-provider.ts";
import { openTestCloud, type TestCloud } from "../support/cloud/vault-cloud.ts";
import { cases } from "../support/property.ts";

// Folders of a storage with lasting ids, such as a drive of a vendor, that the service changes and that another program moves
// behind its back. The records are then out of date, and may even contradict each other: a folder that is recorded below
// another one, which is recorded below it. No such state may loop, lose or invent an item.

const NAMES = ["a", "b", "c", "ä"];
const ITEMS_MAX = 12;

type Step =
  | { readonly do: "list"; readonly at: number }
  | { readonly do: "folder"; readonly at: number; readonly name: number }
  | { readonly do: "rename"; readonly item: number; readonly name: number }
  | { readonly do: "move" | "outside"; readonly item: number; readonly at: number }
  | { readonly do: "delete" | "vanish"; readonly item: number };

const pick = fc.nat({ max: 1000 });
const name = fc.nat({ max: NAMES.length - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("list" as const), at: pick }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("folder" as const), at: pick, name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("rename" as const), item: pick, name }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("move" as const, "outside" as const),
      item: pick,
      at: pick,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("delete" as const, "vanish" as const),
      item: pick,
    }),
  },
);

/** The folders of the storage, by id: name and parent. */
type Tree = Map<string, { readonly name: string; readonly parent: string }>;

async function readTree(outside: CloudProvider): Promise<Tree> {
  const { signal } = new AbortController();
  const tree: Tree = new Map();
  const waiting = [""];
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    const listed = await outside.list({ folder, signal });
    if (listed.kind !== "ok") throw new Error(listed.kind);
    for (const item of listed.items) {
      tree.set(item.id, { name: item.name, parent: item.parent ?? "" });
      waiting.push(item.id);
    }
  }
  return tree;
}

const recorded = (t: TestCloud, id: ConnectionId) =>
  t.db.all<{ provider_item_id: string; parent_ref: string; name: string }>(
    "SELECT provider_item_id, parent_ref, name FROM vault_items WHERE connection_id = ? AND deleted_at IS NULL",
    id,
  );

const browse = (t: TestCloud, mira: VaultCaller, id: ConnectionId, parentRef: string) =>
  t.cloud.listings.browse(mira, id, {
    parentRef,
    after: undefined,
    limit: 1000,
    refresh: true,
    name: undefined,
  });

test("moves in any order, also by other programs, end in the storage's own tree without a cycle", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 50 }), async (steps) => {
      const storage = createMemoryStorage();
      const outside = storage.connect();
      await using t = await openTestCloud({ providerTypes: [storage.type] });
      const mira = await t.addUser("mira");
      const made = await t.cloud.connections.create(mira, {
        provider: "memory",
        display_name: "Drive",
        settings: {},
        credentials: {},
      });
      if (made.kind !== "connected") throw new Error(made.kind);
      const { id } = made.connection;
      const ids: string[] = [];
      for (const one of steps) {
        const item = "item" in one ? ids[one.item % Math.max(ids.length, 1)] : undefined;
        // A client may name a folder that it has seen earlier, and whose record is gone or out of date.
        const folders = ["", ...ids];
        const at = "at" in one ? (folders[one.at % folders.length] ?? "") : "";
        await run(t, { mira, id, outside, ids }, { one, item, at });
        await checkRecords(t, mira, id);
      }
      // Every folder is listed, from the root down: then the records are the storage's tree.
      const tree = await readTree(outside);
      for (const folder of ["", ...tree.keys()]) await browse(t, mira, id, folder);
      const rows = await recorded(t, id);
      expect(
        new Map(
          rows.map((row) => [row.provider_item_id, { name: row.name, parent: row.parent_ref }]),
        ),
      ).toEqual(tree);
      for (const row of rows) {
        const detail = await t.cloud.items.detail(mira, {
          connection_id: id,
          item_id: row.provider_item_id,
        });
        expect(detail.folders).toEqual(pathOf(tree, row.parent_ref));
      }
      expect(t.errors).toEqual([]);
    }),
    { ...cases(60) },
  );
});

interface Scene {
  readonly mira: VaultCaller;
  readonly id: ConnectionId;
  readonly outside: CloudProvider;
  /** Ids of all folders that were ever made. */
  readonly ids: string[];
}

async function run(
  t: TestCloud,
  { mira, id, outside, ids }: Scene,
  { one, item, at }: { one: Step; item: string | undefined; at: string },
): Promise<void> {
  const { signal } = new AbortController();
  const place = { connection_id: id, item_id: item ?? "" };
  const before = await readTree(outside);
  switch (one.do) {
    case "list":
      // An id that the service does not know is not found, and one that is gone is reported as such.
      await browse(t, mira, id, at).catch((error: unknown) =>
        expect(error).toMatchObject({ code: "not_found" }),
      );
      return;
    case "folder": {
      if (ids.length >= ITEMS_MAX) return;
      const wanted = NAMES[one.name] ?? "";
      const made = await t.cloud.changes.createFolder(mira, id, { parent_ref: at, name: wanted });
      if (made.kind !== "folder") {
        expect(["stale", "conflict"]).toContain(made.kind);
        return;
      }
      ids.push(made.item.id);
      const siblings = [...before.values()].filter(({ parent }) => parent === at);
      const free = [wanted, ...[1, 2, 3, 4, 5].map((count) => `${wanted} (${count})`)].find(
        (candidate) => !siblings.some((sibling) => sibling.name === candidate),
      );
      expect(made.item.name).toBe(free);
      return;
    }
    case "rename": {
      if (item === undefined) return;
      const renamed = await t.cloud.changes.rename(mira, place, {
        new_name: NAMES[one.name] ?? "",
        etag: undefined,
      });
      // The id stays, whatever the outcome.
      if (renamed.kind === "renamed") expect(renamed.item.id).toBe(item);
      else expect(["stale", "conflict"]).toContain(renamed.kind);
      return;
    }
    case "move": {
      if (item === undefined) return;
      const moved = await t.cloud.changes.move(mira, place, {
        destination_parent_ref: at,
        etag: undefined,
      });
      const isInside = [at, ...ancestorsOf(before, at)].includes(item);
      if (moved.kind === "moved") {
        expect(moved.itemId).toBe(item);
        expect(isInside).toBe(false);
      } else expect(["stale", "conflict", "invalid_destination"]).toContain(moved.kind);
      return;
    }
    case "delete": {
      if (item === undefined) return;
      const deleted = await t.cloud.changes.delete(mira, place);
      expect(["deleted", "stale"]).toContain(deleted.kind);
      return;
    }
    case "outside":
      if (item !== undefined) await outside.move({ id: item, parent: at, expected: {}, signal });
      return;
    case "vanish":
      if (item !== undefined)
        await outside.delete({ id: item, expected: {}, permanently: false, signal });
  }
}

/** Every recorded item can be shown, however much its parents contradict each other. */
async function checkRecords(t: TestCloud, mira: VaultCaller, id: ConnectionId): Promise<void> {
  const rows = await recorded(t, id);
  for (const { provider_item_id: itemId } of rows) {
    const detail = await t.cloud.items.detail(mira, { connection_id: id, item_id: itemId });
    expect(detail.folders.length).toBeLessThanOrEqual(rows.length);
  }
}

function ancestorsOf(tree: Tree, of: string): string[] {
  const found: string[] = [];
  for (let at = tree.get(of)?.parent ?? ""; at !== ""; at = tree.get(at)?.parent ?? "")
    found.push(at);
  return found;
}

/** Names of a folder and those above it, from the root down. */
function pathOf(tree: Tree, folder: string): string[] {
  if (folder === "") return [];
  return [folder, ...ancestorsOf(tree, folder)].map((at) => tree.get(at)?.name ?? "").reverse();
}
