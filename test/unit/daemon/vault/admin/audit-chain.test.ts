import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createAuditChain } from "../../../../../daemon/vault/admin/audit-chain.service.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { migrate, readMigrations } from "../../../../../storage/engine/migrate.ts";
import { openPostgres } from "../../../../../storage/engine/postgres.ts";
import { insertAudit } from "../../../../../storage/tables/vault/audit.ts";
import { toAuditHash } from "../../../../../storage/tables/vault/audit-chain.ts";
import { createServerDatabases } from "../../../../support/storage/postgres-server.ts";
import { skipUnless } from "../../../../support/skip.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const DAY = 86_400_000;
const NOON = Date.UTC(2026, 10, 20, 12);
const never = new AbortController().signal;

const serverUrl = process.env["CROFT_TEST_POSTGRES_URL"];
const onServer = skipUnless(serverUrl, "CROFT_TEST_POSTGRES_URL names no PostgreSQL server");
let db: Database;
let now: number;
let logged: unknown[];

async function open(engine: Database["dialect"]): Promise<void> {
  now = NOON;
  logged = [];
  db = await openTestDatabase({ engine, clock: () => now });
}
afterEach(() => db.close());

const chainOf = (keptDays = 0) =>
  createAuditChain({
    db,
    clock: () => now,
    log: { info: (...words: unknown[]) => logged.push(words) } as never,
    keptDays,
  });
const record = (eventType: string, metadata: Record<string, unknown> = {}) =>
  db.transaction((tx) => insertAudit(tx, { eventType, metadata, ipAddress: "192.0.2.1" }));
const recordAll = async (count: number) => {
  for (let index = 1; index <= count; index += 1) await record(`auth.event_${index}`);
};

describe("a changed audit trail", () => {
  beforeEach(() => open("sqlite"));
  const fault = async () => (await chainOf().verify()).fault;

  test.each([
    [
      "changed metadata",
      "UPDATE vault_audit SET metadata = '{\"x\":1}' WHERE position = 2",
      2,
      "changed",
    ],
    [
      "another time",
      "UPDATE vault_audit SET created_at = created_at + 1 WHERE position = 2",
      2,
      "changed",
    ],
    ["another actor", "UPDATE vault_audit SET actor_id = 'x' WHERE position = 1", 1, "changed"],
    ["another hash", "UPDATE vault_audit SET hash = 'x' WHERE position = 3", 3, "changed"],
    ["a deleted record", "DELETE FROM vault_audit WHERE position = 2", 2, "missing"],
    ["a deleted first record", "DELETE FROM vault_audit WHERE position = 1", 1, "missing"],
    ["a deleted last record", "DELETE FROM vault_audit WHERE position = 3", 3, "missing"],
    [
      "a deleted last record with a shortened chain",
      "UPDATE vault_audit_chain SET position = 2",
      2,
      "end_differs",
    ],
    [
      "a record past the chain",
      "INSERT INTO vault_audit (event_type, metadata, created_at) VALUES ('auth.forged', '{}', 1)",
      4,
      "added",
    ],
    ["deleted ends", "DELETE FROM vault_audit_chain", 1, "no_chain"],
  ])("%s is found at its position", async (_, statement, position, reason) => {
    await recordAll(3);
    expect(await fault()).toBeUndefined();
    await db.run(statement);
    expect(await fault()).toMatchObject({ position, reason });
  });
});

describe.each(["sqlite", "postgres"] as const)("the audit chain on %s", (engine) => {
  beforeEach(() => open(engine));

  test("each record has the hash of its content and of the hash before it", async () => {
    await db.transaction(async (tx) => {
      await insertAudit(tx, { eventType: "auth.one", actorId: "a", metadata: { name: "ö" } });
      await insertAudit(tx, { eventType: "auth.two" });
    });
    await record("auth.three", { 'a "b" \\ c\u0000': "\t\u2028\u{1f600}%_'$1?" });
    const first = toAuditHash("0".repeat(64), 1, [
      "auth.one",
      null,
      "a",
      null,
      null,
      '{"name":"ö"}',
      NOON,
    ]);
    const second = toAuditHash(first, 2, ["auth.two", null, null, null, null, "{}", NOON]);
    const rows = await db.all("SELECT position, hash FROM vault_audit ORDER BY id");
    expect(rows.slice(0, 2)).toEqual([
      { position: 1, hash: first },
      { position: 2, hash: second },
    ]);
    expect(await chainOf().verify(second)).toMatchObject({
      fault: undefined,
      verified: 3,
      position: 3,
      hash: rows[2]?.["hash"],
      head: "found",
    });
    expect(await chainOf().verify("f".repeat(64))).toMatchObject({ head: "missing" });
  });

  test("a transaction that is rolled back leaves no gap", async () => {
    await record("auth.one");
    await expect(
      db.transaction(async (tx) => {
        await insertAudit(tx, { eventType: "auth.undone" });
        throw new Error("undone");
      }),
    ).rejects.toThrow("undone");
    await record("auth.two");
    expect(await chainOf().verify()).toMatchObject({ fault: undefined, verified: 2 });
  });

  test("a trail that was rewritten as a whole lacks the head that was kept elsewhere", async () => {
    await recordAll(3);
    const { hash } = await chainOf().verify();
    await db.run("DELETE FROM vault_audit");
    await db.run("UPDATE vault_audit_chain SET position = 0, hash = start_hash");
    await recordAll(2);
    await record("auth.forged");
    expect(await chainOf().verify(hash)).toMatchObject({ fault: undefined, head: "missing" });
  });

  test("records from before the chain are counted and not verified", async () => {
    await db.run(
      "INSERT INTO vault_audit (event_type, metadata, created_at) VALUES ('auth.old', '{}', 1)",
    );
    await db.run("UPDATE vault_audit_chain SET unchained_id = (SELECT max(id) FROM vault_audit)");
    await record("auth.one");
    expect(await chainOf().verify()).toMatchObject({ fault: undefined, unchained: 1, verified: 1 });
  });

  test("retention removes old records and keeps the chain and the daily heads verifiable", async () => {
    await recordAll(1_200);
    now += DAY;
    await chainOf().recordHead();
    await chainOf().recordHead();
    expect(logged).toHaveLength(1);
    const heads = await chainOf().listHeads({ page: 1, perPage: 10 });
    expect(heads.records).toMatchObject([{ day: "2026-11-20", position: 1_200, createdAt: now }]);
    const head = heads.records[0]?.hash ?? "";
    await recordAll(3);
    await chainOf(1).removeOld(never);
    expect(await chainOf().verify(head)).toMatchObject({ removed: 0, head: "found" });
    now += 1;
    await chainOf(1).removeOld(never);
    expect(await chainOf().verify(head)).toMatchObject({
      fault: undefined,
      verified: 3,
      removed: 1_200,
      head: "found",
    });
    now += DAY;
    await chainOf(1).removeOld(never);
    expect(await chainOf().verify(head)).toMatchObject({
      fault: undefined,
      verified: 0,
      removed: 1_203,
      head: "removed",
    });
    await record("auth.after");
    expect(await chainOf().verify()).toMatchObject({ fault: undefined, verified: 1 });
    await chainOf(0).removeOld(never);
    expect((await chainOf().verify()).verified).toBe(1);
  });

  test("retention stops before a record that does not fit, so that the evidence stays", async () => {
    await recordAll(4);
    await db.run("UPDATE vault_audit SET event_type = 'auth.other' WHERE position = 3");
    now += 2 * DAY;
    await chainOf(1).removeOld(never);
    expect(await chainOf().verify()).toMatchObject({
      removed: 2,
      fault: { position: 3, reason: "changed" },
    });
  });

  test("transactions that write at the same time make one chain", async () => {
    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        db.transaction(async (tx) => {
          await insertAudit(tx, { eventType: "auth.race", resourceId: String(index) });
          await tx.run(
            "INSERT INTO rate_limits (key, points, expires_at) VALUES (?, 1, 1)",
            `race ${index}`,
          );
          if (index % 3 === 0) await insertAudit(tx, { eventType: "auth.second" });
        }),
      ),
    );
    expect(await chainOf().verify()).toMatchObject({ fault: undefined, verified: 80 });
    const ids = await db.all("SELECT id FROM vault_audit ORDER BY position");
    expect(ids.map(({ id }) => Number(id))).toEqual(
      ids.map(({ id }) => Number(id)).toSorted((a, b) => a - b),
    );
  });
});

onServer("two daemons that write at the same time make one chain", async () => {
  const databases = createServerDatabases(serverUrl ?? "");
  const url = await databases.create();
  const daemons = await Promise.all([
    openPostgres({ url, clock: () => now }),
    openPostgres({ url, clock: () => now }),
  ]);
  [db] = daemons;
  await migrate(daemons[0], readMigrations());
  await Promise.all(
    Array.from({ length: 80 }, (_, index) =>
      daemons[index % 2 === 0 ? 0 : 1].transaction((tx) =>
        insertAudit(tx, { eventType: "auth.race" }),
      ),
    ),
  );
  expect(await chainOf().verify()).toMatchObject({ fault: undefined, verified: 80 });
  await daemons[1].close();
});
