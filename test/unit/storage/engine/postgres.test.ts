import { describe, expect, test } from "vitest";
import { openPostgres } from "../../../../storage/engine/postgres.ts";
import type { PostgresPool } from "../../../../storage/engine/postgres-pool.ts";

/** A server that answers every statement with no rows, unless `refuse` has an error for it. */
function createFakeServer(
  refuse: (text: string, times: number) => string | undefined,
  { encoding = "UTF8", isSingle = true } = {},
) {
  const log: string[] = [];
  const discarded: boolean[] = [];
  const times = new Map<string, number>();
  const pool: PostgresPool = {
    isSingle,
    connect: async () => ({
      async query(text) {
        if (text.includes("pg_index")) return { rows: [], changes: 0 };
        if (text.includes("server_encoding")) return { rows: [{ encoding }], changes: 0 };
        log.push(text);
        const count = (times.get(text) ?? 0) + 1;
        times.set(text, count);
        const code = refuse(text, count);
        if (code !== undefined) throw Object.assign(new Error(`refused ${text}`), { code });
        return { rows: [], changes: 1 };
      },
      release: (broken) => void discarded.push(broken),
    }),
    end: async () => void log.push("end"),
  };
  return { pool, log, discarded };
}

const BEGIN = "BEGIN ISOLATION LEVEL SERIALIZABLE";

describe("a transaction with a serialization failure", () => {
  test.each(["40001", "40P01"])(
    "a transaction that has a serialization failure at a statement (%s) is retried from its start",
    async (code) => {
      const server = createFakeServer((text, times) =>
        text === "work" && times < 3 ? code : undefined,
      );
      const db = await openPostgres({ url: server.pool, clock: () => 5 });
      let runs = 0;
      const result = await db.transaction(async (tx) => {
        runs++;
        await tx.run("first");
        await tx.run("work");
        return "done";
      });
      expect([result, runs]).toEqual(["done", 3]);
      const attempt = [BEGIN, "first", "work", "ROLLBACK"];
      expect(server.log).toEqual([...attempt, ...attempt, BEGIN, "first", "work", "COMMIT"]);
    },
  );

  test("a transaction that has a serialization failure at its commit is retried", async () => {
    const server = createFakeServer((text, times) =>
      text === "COMMIT" && times === 1 ? "40001" : undefined,
    );
    const db = await openPostgres({ url: server.pool, clock: () => 5 });
    let runs = 0;
    await db.transaction(async (tx) => {
      runs++;
      await tx.run("work");
    });
    expect(runs).toBe(2);
  });

  test("runs again even when its callback makes something else of the failure", async () => {
    const server = createFakeServer((text, times) =>
      text === "work" && times === 1 ? "40001" : undefined,
    );
    const db = await openPostgres({ url: server.pool, clock: () => 5 });
    const result = await db.transaction(async (tx) => {
      try {
        return await tx.run("work");
      } catch {
        throw new Error("name taken");
      }
    });
    expect(result).toEqual({ changes: 1 });
  });

  test("a statement that loses again and again runs while the transactions of all daemons wait", async () => {
    const server = createFakeServer(
      (text, times) => (["read", "write"].includes(text) && times < 7 ? "40001" : undefined),
      { isSingle: false },
    );
    const db = await openPostgres({ url: server.pool, clock: () => 5 });
    await db.get("read");
    await db.run("write");
    const whileOthersWait = (statement: string) => [
      "BEGIN ISOLATION LEVEL READ COMMITTED",
      "SELECT pg_advisory_xact_lock($1)",
      statement,
      "COMMIT",
    ];
    expect(server.log).toEqual([
      ...Array.from({ length: 6 }, () => "read"),
      ...whileOthersWait("read"),
      ...Array.from({ length: 6 }, () => "write"),
      ...whileOthersWait("write"),
    ]);
  });

  test("fails as busy when it always has to", async () => {
    const server = createFakeServer((text) =>
      text === "UPDATE t SET n = 1" ? "40001" : undefined,
    );
    const db = await openPostgres({ url: server.pool, clock: () => 5 });
    await expect(db.run("UPDATE t SET n = 1")).rejects.toMatchObject({ code: "busy" });
    expect(server.log.length).toBeGreaterThan(10);
    expect(server.log.length).toBeLessThan(50);
  });
});

describe("a connection", () => {
  test("a connection that broke is discarded, one whose statement failed is not", async () => {
    const server = createFakeServer((text) => ({ lost: "ECONNRESET", wrong: "42601" })[text]);
    const db = await openPostgres({ url: server.pool, clock: () => 5 });
    server.discarded.length = 0;
    await expect(db.get("wrong")).rejects.toMatchObject({ code: "failed" });
    await expect(db.get("lost")).rejects.toThrow(
      "no answer from the PostgreSQL server (ECONNRESET)",
    );
    await expect(db.transaction((tx) => tx.run("lost"))).rejects.toMatchObject({ code: "busy" });
    expect(server.discarded).toEqual([false, true, true]);
    expect(server.log).toEqual(["wrong", "lost", BEGIN, "lost"]);
  });

  test("a connection whose rollback fails is discarded", async () => {
    const server = createFakeServer((text) => (text === "ROLLBACK" ? "ECONNRESET" : undefined));
    const db = await openPostgres({ url: server.pool, clock: () => 5 });
    server.discarded.length = 0;
    const running = db.transaction(() => Promise.reject(new Error("mine")));
    await expect(running).rejects.toMatchObject({ code: "busy" });
    expect(server.discarded).toEqual([true]);
  });
});

test("a database that cannot store every text is refused", async () => {
  const server = createFakeServer(() => undefined, { encoding: "LATIN1" });
  const refused = openPostgres({ url: server.pool, clock: () => 5 });
  await expect(refused).rejects.toThrow("create the database with ENCODING 'UTF8'");
  expect(server.log).toEqual(["end"]);
});

describe("an address", () => {
  test("an invalid or unreachable database URL fails without its password", async () => {
    const clock = () => 0;
    const none = openPostgres({ url: "postgres://croft:pass word@[", clock });
    await expect(none).rejects.toThrow("the database's address is no URL");
    const unreachable = openPostgres({ url: "postgres://croft:hunter2@127.0.0.1:1/croft", clock });
    await expect(unreachable).rejects.toThrow("(ECONNREFUSED): connecting to 127.0.0.1:1/croft");
    await expect(unreachable).rejects.not.toThrow("hunter2");
  });
});
