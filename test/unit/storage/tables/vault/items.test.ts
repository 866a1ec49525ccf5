import { describe, expect, onTestFinished, test } from "vitest";
import { parseQuery } from "../../../../../daemon/vault/documents/query.ts";
import type { Queries, Transaction } from "../../../../../storage/engine/database.ts";
import {
  type MigratableDatabase,
  migrate,
  readMigrations,
} from "../../../../../storage/engine/migrate.ts";
import { openPostgres } from "../../../../../storage/engine/postgres.ts";
import { openSqlite } from "../../../../../storage/engine/sqlite.ts";
import { insertTopic, updateTopic } from "../../../../../storage/tables/vault/documents/topics.ts";
import { toAccountId, toConnectionId } from "../../../../../storage/tables/vault/ids.ts";
import { readAncestorNames } from "../../../../../storage/tables/vault/item-ancestors.ts";
import {
  getItemAnalysis,
  putItemAnalysis,
} from "../../../../../storage/tables/vault/item-analysis.ts";
import { replaceFolderItems, softDeleteItem } from "../../../../../storage/tables/vault/items.ts";
import { searchEntries } from "../../../../../storage/tables/vault/search.ts";
import { putSearchEntry } from "../../../../../storage/tables/vault/search-entries.ts";
import { insertVaultUser } from "../../../../../storage/tables/vault/users.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";
import { createPostgresPool } from "../../../../support/storage/postgres.ts";

const clock = () => 9_000;
const openEmpty = {
  sqlite: async (): Promise<MigratableDatabase> => openSqlite({ path: ":memory:", clock }),
  postgres: async (): Promise<MigratableDatabase> =>
    openPostgres({ url: await createPostgresPool(), clock }),
};

test("items below a folder are found by their parents, without a scan of the connection", async () => {
  const db = await openTestDatabase({ engine: "sqlite" });
  onTestFinished(() => db.close());
  const plans: string[] = [];
  const explaining = {
    now: 1,
    run: async (sql: string, ...values: never[]) => {
      const steps = await db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
      plans.push(...steps.map(({ detail }) => detail));
      return { changes: 0 };
    },
  } as unknown as Transaction;
  await softDeleteItem(explaining, { id: "i", connectionId: toConnectionId("c"), kind: "folder" });
  const walks = plans.filter((step) => step.includes("child"));
  expect(new Set(walks)).toEqual(
    new Set(["SEARCH child USING INDEX vault_items_folder (connection_id=? AND parent_ref=?)"]),
  );
});

describe.each(["sqlite", "postgres"] as const)("items on %s", (engine) => {
  test("a listing keeps what is recorded of items whose storage failed to describe them", async () => {
    await using scene = await openScene(engine);
    await scene.list("", [item("docs", "folder"), item("old.txt")]);
    await scene.list("docs", [item("docs/a.txt")]);
    await scene.list("", [item("docs"), item("new.txt")], ["docs", "new.txt"]);
    expect(await scene.live()).toEqual(["docs", "docs/a.txt", "new.txt"]);
    expect(
      await scene.db.all("SELECT kind FROM vault_items WHERE provider_item_id = 'docs'"),
    ).toEqual([{ kind: "folder" }]);
  });

  test("the ancestors of many items are read by one query, whose walk ends in a cycle of parents", async () => {
    await using scene = await openScene(engine);
    const long = "l".repeat(2_000);
    await scene.list("", [item("a", "folder"), { ...item(long, "folder"), name: "long" }]);
    await scene.list("a", [item("a/b", "folder")]);
    await scene.list("a/b", [item("a/b/c.txt")]);
    await scene.list(long, [{ ...item("deep"), parentRef: long }]);
    await scene.list("round", [{ ...item("again", "folder"), parentRef: "round" }]);
    await scene.list("again", [{ ...item("round", "folder"), parentRef: "again" }]);
    let queries = 0;
    const counting: Queries = {
      ...scene.db,
      all: (sql, ...values) => {
        queries += 1;
        return scene.db.all(sql, ...values);
      },
    };
    const refs = ["a/b/c.txt", "a", "deep", "again", "missing"];
    const items = refs.map((providerItemId) => ({
      connectionId: toConnectionId("c"),
      providerItemId,
    }));
    const namesAbove = await readAncestorNames(counting, mira, items);
    expect(items.map(namesAbove)).toEqual([["b", "a"], [], ["long"], ["round", "again"], []]);
    expect(queries).toBe(1);
    expect((await readAncestorNames(counting, toAccountId("noor"), items))(items[0]!)).toEqual([]);
  });

  test("a renamed item is found by its new name only, and keeps a renamed topic", async () => {
    await using scene = await openScene(engine);
    await scene.list("", [{ ...item("id-1"), name: "offer.txt" }]);
    await scene.analyse("id-1", "twelve bicycles");
    const find = (query: Partial<Parameters<typeof searchEntries>[2]>, words: string) =>
      searchEntries(
        scene.db,
        parseQuery(words),
        { userId: mira, ...query },
        { limit: 5, offset: 0 },
      );
    expect((await find({}, "offer")).total).toBe(1);
    await scene.list("", [{ ...item("id-1"), name: "contract.txt" }]);
    expect((await find({}, "offer")).total).toBe(0);
    expect((await find({}, "contract bicycles")).total).toBe(1);
    expect((await find({ topicKey: "deals" }, "bicycles")).total).toBe(1);
    await scene.db.transaction((tx) =>
      updateTopic(tx, { id: "topic", name: "Purchases", nameKey: "purchases", description: "" }),
    );
    expect((await find({ topicKey: "deals" }, "bicycles")).total).toBe(0);
    expect((await find({ topicKey: "purchases" }, "bicycles")).total).toBe(1);
  });
});

const mira = toAccountId("mira");
const CONNECTION = `INSERT INTO vault_connections
  (id, user_id, provider, display_name, settings, credentials, status, generation, created_at)
  VALUES ('c', 'mira', 'memory', 'Memory', '{}', '', 'connected', 1, 1)`;

function item(id: string, kind: "file" | "folder" = "file") {
  return {
    ...{ providerItemId: id, name: id.split("/").at(-1) ?? id, kind, size: 1, modifiedAt: 1 },
    parentRef: id.split("/").slice(0, -1).join("/"),
    ...{ contentType: undefined, etag: "e", version: "v" },
  } as const;
}

async function openScene(engine: "sqlite" | "postgres") {
  const db = await openTestDatabase({ engine });
  const connectionId = toConnectionId("c");
  let ids = 0;
  const owner = { connectionId, userId: mira, newId: () => `row-${(ids += 1)}` };
  await db.transaction(async (tx) => {
    await insertVaultUser(tx, {
      ...{ id: mira, handle: "mira", email: "mira@example.org", passwordHash: "", role: "user" },
      passwordMustChange: false,
    });
    await insertTopic(tx, {
      ...{ id: "topic", userId: mira, name: "Deals", nameKey: "deals", description: "" },
    });
    await tx.run(CONNECTION);
  });
  const rowOf = async (id: string) =>
    (await db.get<{ id: string }>("SELECT id FROM vault_items WHERE provider_item_id = ?", id))
      ?.id ?? "";
  return {
    db,
    list: (parent: string, items: Parameters<typeof replaceFolderItems>[3], unknown?: string[]) =>
      db.transaction((tx) => replaceFolderItems(tx, owner, parent, items, unknown)),
    live: async () =>
      (
        await db.all<{ id: string }>(
          "SELECT provider_item_id AS id FROM vault_items WHERE deleted_at IS NULL ORDER BY provider_item_id",
        )
      ).map(({ id }) => id),
    async analyse(id: string, text: string) {
      const itemId = await rowOf(id);
      await db.transaction(async (tx) => {
        await putItemAnalysis(tx, itemId, {
          ...{ text, missing: undefined, topicIds: ["topic", "deleted"], version: "v" },
        });
        await putSearchEntry(tx, {
          ...{ userId: mira, source: { itemId }, title: "offer.txt", body: text },
          ...{ contentType: "text/plain", connectionId },
        });
      });
      expect((await getItemAnalysis(db, itemId)).topics).toEqual(["Deals"]);
    },
    [Symbol.asyncDispose]: () => db.close(),
  };
}

test.each(["sqlite", "postgres"] as const)(
  "topics of analysed items become links at an upgrade, on %s",
  async (engine) => {
    const db = await openEmpty[engine]();
    onTestFinished(() => db.close());
    const all = readMigrations();
    await migrate(
      db,
      all.slice(
        0,
        all.findIndex(({ name }) => name === "vault_item_topics"),
      ),
    );
    await db.transaction(async (tx) => {
      await insertVaultUser(tx, {
        ...{ id: mira, handle: "mira", email: "mira@example.org", passwordHash: "", role: "user" },
        passwordMustChange: false,
      });
      const topic = { description: "", nameKey: "tax" };
      await insertTopic(tx, { ...topic, id: "own", userId: mira, name: "Tax" });
      await insertTopic(tx, { ...topic, id: "system", userId: undefined, name: "Tax" });
      await insertTopic(tx, {
        ...topic,
        id: "travel",
        userId: undefined,
        name: "Travel",
        nameKey: "travel",
      });
      await tx.run(CONNECTION);
      for (const [id, topics] of [
        ["a", '["Tax"]'],
        ["b", '["Travel"]'],
        ["c", '["Deleted"]'],
        ["d", "[]"],
      ] as const)
        await tx.run(
          `INSERT INTO vault_items (id, connection_id, user_id, provider_item_id, name, sort_key, kind, parent_ref,
             analysis_status, semantic_index_status, topics) VALUES (?, 'c', 'mira', ?, ?, ?, 'file', '', 'ready', 'none', ?)`,
          ...[id, id, id, Buffer.from(id), topics],
        );
    });
    await migrate(db, all);
    expect(
      await db.all("SELECT item_id, topic_id FROM vault_item_topics ORDER BY item_id"),
    ).toEqual([
      { item_id: "a", topic_id: "own" },
      { item_id: "b", topic_id: "travel" },
    ]);
  },
);
