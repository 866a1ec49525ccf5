import { describe, expect, onTestFinished, test } from "vitest";
import { StorageError } from "../../storage/engine/database.ts";
import type { Database, SqlValue } from "../../storage/engine/database.ts";
import type { Migration } from "../../storage/engine/migrate.ts";

/** The options of a suite's database; every engine supports all of them. */
export interface SuiteOptions {
  readonly clock: () => number;
  readonly transactionTimeoutMs?: number;
  readonly onStuck?: (message: string) => void;
}

export interface DatabaseUnderTest {
  /** Opens an empty database and makes tables in it as a migration does; the suite closes it. */
  open(options: SuiteOptions, tables: Migration): Promise<Database>;
  /** There is one connection: a read waits for a transaction that awaits something else than its statements. */
  readonly isSingle?: boolean;
}

const SCHEMA = `
  CREATE TABLE accounts (
    id INTEGER PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    realm TEXT NOT NULL,
    name TEXT NOT NULL,
    age INTEGER,
    CONSTRAINT accounts_age_positive CHECK (age > 0),
    UNIQUE (realm, name)
  ) STRICT;
  CREATE UNIQUE INDEX accounts_lower_email ON accounts (lower(email));
  CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES accounts (id)
  ) STRICT;
  CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
  CREATE TABLE things (id INTEGER PRIMARY KEY, label TEXT, bytes BLOB, amount INTEGER, ratio REAL) STRICT;
`;

const TABLES: Migration = { version: 1, name: "suite", script: SCHEMA, hash: "suite" };

const NOW = 1_790_000_000_000;

/** The contract of `Database`: every engine runs all of it. */
export function databaseSuite(name: string, engine: DatabaseUnderTest): void {
  async function openEmpty(options: Partial<SuiteOptions> = {}): Promise<Database> {
    const db = await engine.open({ clock: () => NOW, ...options }, TABLES);
    onTestFinished(() => db.close());
    return db;
  }

  const addAccount = (db: Pick<Database, "run">, email: string, ...rest: SqlValue[]) => {
    const [realm = "r", accountName = email, age = 30] = rest;
    return db.run(
      "INSERT INTO accounts (email, realm, name, age) VALUES (?, ?, ?, ?)",
      email,
      realm,
      accountName,
      age,
    );
  };
  const countAccounts = async (db: Pick<Database, "get">) =>
    (await db.get<{ n: number }>("SELECT count(*) AS n FROM accounts"))?.n;
  const readCounter = async (db: Pick<Database, "get">) =>
    (await db.get<{ value: number }>("SELECT value FROM counters WHERE name = ?", "c"))?.value;

  describe(`${name}: values`, () => {
    async function roundTrip(column: "label" | "bytes" | "amount" | "ratio", value: SqlValue) {
      const db = await openEmpty();
      const row = await db.get<Record<string, SqlValue>>(
        `INSERT INTO things (${column}) VALUES (?) RETURNING ${column}`,
        value,
      );
      const again = await db.get<Record<string, SqlValue>>(`SELECT ${column} FROM things`);
      expect(again).toEqual(row);
      return row?.[column];
    }

    test("text of every script is read back unchanged", async () => {
      const texts = [
        "",
        'it\'s "quoted" ? $1 -- no comment',
        "Ünïcödé é é",
        "שלום مرحبا",
        "日本語 🦊 👩‍👩‍👧 \u{10FFFF}",
        "line\nbreak\r\n\ttab \u0001",
        "%_\\",
      ];
      const db = await openEmpty();
      for (const text of texts) await db.run("INSERT INTO things (label) VALUES (?)", text);
      const rows = await db.all<{ label: string }>("SELECT label FROM things ORDER BY id");
      expect(rows.map((row) => row.label)).toEqual(texts);
    });

    test("bytes are read back as a Uint8Array, all 256 values and an empty array", async () => {
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
      const back = await roundTrip("bytes", bytes);
      expect(back).toBeInstanceOf(Uint8Array);
      expect([...(back as Uint8Array)]).toEqual([...bytes]);
      const none = await roundTrip("bytes", new Uint8Array(0));
      expect(none).toBeInstanceOf(Uint8Array);
      expect((none as Uint8Array).length).toBe(0);
    });

    test("null is null in every column", async () => {
      for (const column of ["label", "bytes", "amount", "ratio"] as const)
        expect(await roundTrip(column, null)).toBeNull();
    });

    test("whole numbers are exact up to 2^53 - 1 on both sides of zero", async () => {
      const amounts = [0, -1, NOW, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
      for (const amount of amounts) expect(await roundTrip("amount", amount)).toBe(amount);
    });

    test("a whole number divides as a whole number and is written without a fraction", async () => {
      const db = await openEmpty();
      await db.run("INSERT INTO things (amount, label) VALUES (?, ?)", 7, 7);
      expect(await db.get("SELECT amount / ? AS half, label FROM things", 2)).toEqual({
        half: 3,
        label: "7",
      });
    });

    test("fractions keep all their digits", async () => {
      for (const ratio of [0.1, -1.5, Math.PI, 1e-300])
        expect(await roundTrip("ratio", ratio)).toBe(ratio);
    });

    test("counts, sums, averages and comparisons are numbers", async () => {
      const db = await openEmpty();
      for (const amount of [1, 2]) await db.run("INSERT INTO things (amount) VALUES (?)", amount);
      expect(
        await db.get(
          "SELECT count(*) AS n, sum(amount) AS total, avg(amount) AS mean, max(amount) = 2 AS two FROM things",
        ),
      ).toEqual({ n: 2, total: 3, mean: 1.5, two: 1 });
    });

    test("a stored number beyond 2^53 - 1 is reported as corrupt instead of rounded", async () => {
      const db = await openEmpty();
      await db.run("INSERT INTO things (amount) VALUES (9007199254740993)");
      await expect(db.get("SELECT amount FROM things")).rejects.toMatchObject({ code: "corrupt" });
      await expect(db.all("SELECT amount FROM things")).rejects.toMatchObject({ code: "corrupt" });
    });

    test.each([
      ["a number beyond 2^53 - 1", 2 ** 53],
      ["not a number", Number.NaN],
      ["infinity", Number.POSITIVE_INFINITY],
      ["text with a NUL", "a\0b"],
      ["a boolean", true],
      ["an object", {}],
      ["undefined", undefined],
      ["a bigint", 1n],
    ])("refuses %s", async (_, value) => {
      const db = await openEmpty();
      const bad = value as SqlValue;
      await expect(db.run("INSERT INTO things (label) VALUES (?)", bad)).rejects.toMatchObject({
        name: "StorageError",
        code: "failed",
      });
      expect(await db.all("SELECT id FROM things")).toEqual([]);
    });

    test("a lone surrogate becomes U+FFFD", async () => {
      expect(await roundTrip("label", "a\ud800b")).toBe("a\ufffdb");
    });

    test("text is compared and ordered by its bytes", async () => {
      const db = await openEmpty();
      for (const label of ["b", "a", "B", "é", "z"])
        await db.run("INSERT INTO things (label) VALUES (?)", label);
      const rows = await db.all<{ label: string }>("SELECT label FROM things ORDER BY label");
      expect(rows.map((row) => row.label)).toEqual(["B", "a", "b", "z", "é"]);
    });
  });

  describe(`${name}: statements`, () => {
    test("get gives the first row, or undefined", async () => {
      const db = await openEmpty();
      for (const amount of [2, 1]) await db.run("INSERT INTO things (amount) VALUES (?)", amount);
      expect(await db.get("SELECT amount FROM things ORDER BY amount")).toEqual({ amount: 1 });
      expect(await db.get("SELECT amount FROM things WHERE amount > ?", 5)).toBeUndefined();
    });

    test("run returns the number of changed rows, 0 for a statement that reads", async () => {
      const db = await openEmpty();
      for (const amount of [1, 2, 3])
        await db.run("INSERT INTO things (amount) VALUES (?)", amount);
      expect(await db.run("UPDATE things SET amount = 0 WHERE amount > ?", 1)).toEqual({
        changes: 2,
      });
      expect(await db.run("SELECT id FROM things")).toEqual({ changes: 0 });
      expect(await db.run("DELETE FROM things WHERE amount = 0 RETURNING id")).toEqual({
        changes: 2,
      });
      expect(await db.run("DELETE FROM things WHERE amount = 0")).toEqual({ changes: 0 });
    });

    test("RETURNING gives the generated id, and ids rise", async () => {
      const db = await openEmpty();
      const add = () =>
        db.get<{ id: number }>("INSERT INTO things (amount) VALUES (1) RETURNING id");
      const ids = [(await add())?.id, (await add())?.id];
      expect(ids).toEqual([1, 2]);
      expect(await db.all("UPDATE things SET amount = 2 RETURNING id, amount")).toHaveLength(2);
    });

    test("get and all execute a statement that returns no rows", async () => {
      const db = await openEmpty();
      expect(await db.get("INSERT INTO things (amount) VALUES (?)", 1)).toBeUndefined();
      expect(await db.all("INSERT INTO things (amount) VALUES (?)", 2)).toEqual([]);
      expect(await db.get("SELECT count(*) AS n FROM things")).toEqual({ n: 2 });
    });

    test("an INSERT with ON CONFLICT DO UPDATE updates the existing row", async () => {
      const db = await openEmpty();
      const add = () =>
        db.run(
          "INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value",
          "c",
          2,
        );
      await add();
      await add();
      expect(await readCounter(db)).toBe(4);
    });

    test("a question mark in a string, a quoted name or a comment is not a placeholder", async () => {
      const db = await openEmpty();
      const row = await db.get(
        `SELECT 'why?' AS text, label AS "really?" -- ?\n FROM things /* ? */ WHERE amount = ?`,
        1,
      );
      expect(row).toBeUndefined();
      await db.run("INSERT INTO things (label, amount) VALUES ('it''s ?', ?)", 1);
      expect(await db.get("SELECT label FROM things WHERE amount = ?", 1)).toEqual({
        label: "it's ?",
      });
    });

    test.each([
      "BEGIN",
      " commit",
      "ROLLBACK",
      "SAVEPOINT s",
      "PRAGMA synchronous = OFF",
      "VACUUM",
    ])("refuses %s: transactions and settings are not the caller's", async (sql) => {
      const db = await openEmpty();
      await expect(db.run(sql)).rejects.toMatchObject({ code: "failed" });
      await expect(db.transaction((tx) => tx.run(sql))).rejects.toMatchObject({ code: "failed" });
      expect(await countAccounts(db)).toBe(0);
    });

    test.each(["nonsense", "SELECT missing FROM things", "SELECT id FROM missing", ""])(
      "a wrong statement fails and the next one works: %s",
      async (sql) => {
        const db = await openEmpty();
        await expect(db.get(sql)).rejects.toBeInstanceOf(StorageError);
        await expect(db.run(sql)).rejects.toMatchObject({ code: "failed" });
        expect(await countAccounts(db)).toBe(0);
      },
    );

    test("too few or too many values fail", async () => {
      const db = await openEmpty();
      const sql = "INSERT INTO things (amount) VALUES (?)";
      await expect(db.run(sql)).rejects.toMatchObject({ code: "failed" });
      await expect(db.run(sql, 1, 2)).rejects.toMatchObject({ code: "failed" });
      await expect(db.get("SELECT id FROM things WHERE id = ?")).rejects.toMatchObject({
        code: "failed",
      });
    });
  });

  describe(`${name}: conflicts`, () => {
    async function refusal(db: Database, statement: Promise<unknown>): Promise<StorageError> {
      const error = await statement.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(StorageError);
      expect(await db.get("SELECT 1 AS one")).toEqual({ one: 1 });
      return error as StorageError;
    }

    test("name the column of a UNIQUE constraint", async () => {
      const db = await openEmpty();
      await addAccount(db, "mira@example.org");
      const error = await refusal(db, addAccount(db, "mira@example.org", "r", "other"));
      // The index on the expression and the column's own are both violated; an engine reports the first one that it
      // checks.
      expect(error.code).toBe("conflict");
      expect(["accounts.email", "accounts_lower_email"]).toContain(error.constraint);
      expect(error.message).not.toContain("mira@example.org");
    });

    test("name all columns of a constraint over several, in its order", async () => {
      const db = await openEmpty();
      await addAccount(db, "a@example.org", "r", "mira");
      const error = await refusal(db, addAccount(db, "b@example.org", "r", "mira"));
      expect(error).toMatchObject({ code: "conflict", constraint: "accounts.realm,accounts.name" });
    });

    test("name a primary key", async () => {
      const db = await openEmpty();
      await db.run("INSERT INTO counters (name, value) VALUES ('c', 1)");
      const again = db.run("INSERT INTO counters (name, value) VALUES ('c', 1)");
      expect(await refusal(db, again)).toMatchObject({
        code: "conflict",
        constraint: "counters.name",
      });
    });

    test("name an index on an expression", async () => {
      const db = await openEmpty();
      await addAccount(db, "mira@example.org");
      const error = await refusal(db, addAccount(db, "Mira@Example.org", "r", "other"));
      expect(error).toMatchObject({ code: "conflict", constraint: "accounts_lower_email" });
    });

    test("name a CHECK", async () => {
      const db = await openEmpty();
      const error = await refusal(db, addAccount(db, "a@example.org", "r", "n", -1));
      expect(error).toMatchObject({ code: "conflict", constraint: "accounts_age_positive" });
    });

    test("come from a foreign key both ways", async () => {
      const db = await openEmpty();
      const orphan = db.run("INSERT INTO notes (account_id) VALUES (?)", 77);
      expect((await refusal(db, orphan)).code).toBe("conflict");
      await addAccount(db, "a@example.org");
      await db.run("INSERT INTO notes (account_id) SELECT id FROM accounts");
      expect((await refusal(db, db.run("DELETE FROM accounts"))).code).toBe("conflict");
    });

    test("a misplaced NULL or a wrong type is a failed statement, not a conflict", async () => {
      const db = await openEmpty();
      const missing = db.run("INSERT INTO counters (name, value) VALUES (?, ?)", "c", null);
      expect((await refusal(db, missing)).code).toBe("failed");
      const wrong = db.run("INSERT INTO counters (name, value) VALUES (?, ?)", "c", "secret words");
      const error = await refusal(db, wrong);
      expect(error.code).toBe("failed");
      expect(error.message).not.toContain("secret words");
    });
  });

  describe(`${name}: writes`, () => {
    test("a write is visible when its promise resolves", async () => {
      const db = await openEmpty();
      for (let index = 1; index <= 20; index++) {
        await addAccount(db, `${index}@example.org`);
        expect(await countAccounts(db)).toBe(index);
      }
    });

    test("200 increments at once are all counted", async () => {
      const db = await openEmpty();
      await db.run("INSERT INTO counters (name, value) VALUES ('c', 0)");
      await Promise.all(
        Array.from({ length: 200 }, () =>
          db.run("UPDATE counters SET value = value + 1 WHERE name = ?", "c"),
        ),
      );
      expect(await readCounter(db)).toBe(200);
    });

    test("200 transactions that read and write at once are all counted", async () => {
      const db = await openEmpty();
      await db.run("INSERT INTO counters (name, value) VALUES ('c', 0)");
      await Promise.all(
        Array.from({ length: 200 }, () =>
          db.transaction(async (tx) => {
            const value = (await readCounter(tx)) ?? Number.NaN;
            await tx.run("UPDATE counters SET value = ? WHERE name = ?", value + 1, "c");
          }),
        ),
      );
      expect(await readCounter(db)).toBe(200);
    });

    test("only the failed ones of grouped writes are rolled back", async () => {
      const db = await openEmpty();
      const writes = Array.from({ length: 50 }, (_, index) => {
        const email = index % 10 === 9 ? "same@example.org" : `${index}@example.org`;
        if (index % 3 === 0) return addAccount(db, email);
        return db.transaction(async (tx) => {
          await addAccount(tx, email);
          await tx.run("INSERT INTO things (label) VALUES (?)", email);
        });
      });
      const results = await Promise.allSettled(writes);
      const failed = results.filter((result) => result.status === "rejected");
      expect(failed).toHaveLength(4);
      for (const { reason } of failed) expect(reason).toMatchObject({ code: "conflict" });
      expect(await countAccounts(db)).toBe(46);
      // Every account of a transaction has its thing, and no thing is left of one that was undone.
      const things = await db.get<{ n: number }>("SELECT count(*) AS n FROM things");
      const expected = results.filter(
        (result, index) => index % 3 !== 0 && result.status === "fulfilled",
      );
      expect(things?.n).toBe(expected.length);
    });

    test("a statement that changes many rows is atomic", async () => {
      const db = await openEmpty();
      for (const age of [1, 2, 3]) await addAccount(db, `${age}@example.org`, "r", `n${age}`, age);
      const half = db.run("UPDATE accounts SET age = age - 2");
      const other = addAccount(db, "after@example.org");
      await expect(half).rejects.toMatchObject({ code: "conflict" });
      await other;
      const rows = await db.all<{ age: number }>("SELECT age FROM accounts ORDER BY id");
      expect(rows.map((row) => row.age)).toEqual([1, 2, 3, 30]);
    });
  });

  describe(`${name}: transactions`, () => {
    test("commit everything and return the result of the callback", async () => {
      const db = await openEmpty();
      const result = await db.transaction(async (tx) => {
        await addAccount(tx, "a@example.org");
        await addAccount(tx, "b@example.org");
        return countAccounts(tx);
      });
      expect(result).toBe(2);
      expect(await countAccounts(db)).toBe(2);
    });

    test("roll back when the callback throws, and rethrow its error", async () => {
      const db = await openEmpty();
      const mine = new Error("changed my mind");
      const running = db.transaction(async (tx) => {
        await addAccount(tx, "a@example.org");
        throw mine;
      });
      await expect(running).rejects.toBe(mine);
      expect(await countAccounts(db)).toBe(0);
      await addAccount(db, "a@example.org");
    });

    test("roll back when a callback throws before its first statement", async () => {
      const db = await openEmpty();
      const work = (): Promise<never> => {
        throw new Error("at once");
      };
      await expect(db.transaction(work)).rejects.toThrow("at once");
      await addAccount(db, "a@example.org");
    });

    test("read the clock once", async () => {
      let time = NOW;
      const db = await openEmpty({ clock: () => time++ });
      const [first, second] = await db.transaction(async (tx) => {
        const before = tx.now;
        await addAccount(tx, "a@example.org");
        return [before, tx.now];
      });
      expect(second).toBe(first);
      expect(first).toBeGreaterThanOrEqual(NOW);
    });

    test("transactions are undone by a failed statement even when the callback catches it", async () => {
      const db = await openEmpty();
      await addAccount(db, "a@example.org");
      const running = db.transaction(async (tx) => {
        await addAccount(tx, "b@example.org");
        await addAccount(tx, "a@example.org").catch(() => undefined);
        await addAccount(tx, "c@example.org").catch(() => undefined);
      });
      await expect(running).rejects.toMatchObject({ code: "conflict" });
      expect(await countAccounts(db)).toBe(1);
    });

    test("transactions continue after a statement that was refused by ON CONFLICT DO NOTHING", async () => {
      const db = await openEmpty();
      await addAccount(db, "a@example.org");
      const result = await db.transaction(async (tx) => {
        const { changes } = await tx.run(
          "INSERT INTO accounts (email, realm, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
          "a@example.org",
          "r",
          "n",
        );
        await addAccount(tx, "b@example.org");
        return changes;
      });
      expect(result).toBe(0);
      expect(await countAccounts(db)).toBe(2);
    });

    test("include a statement that the callback did not wait for", async () => {
      const db = await openEmpty();
      await db.transaction(async (tx) => {
        void addAccount(tx, "a@example.org");
      });
      expect(await countAccounts(db)).toBe(1);
      await expect(
        db.transaction(async (tx) => {
          await addAccount(tx, "b@example.org");
          addAccount(tx, "a@example.org").catch(() => undefined);
        }),
      ).rejects.toMatchObject({ code: "conflict" });
      expect(await countAccounts(db)).toBe(1);
    });

    test("a transaction sees its own writes, which are invisible to others before the commit", async () => {
      const db = await openEmpty();
      const wrote = Promise.withResolvers<void>();
      const go = Promise.withResolvers<void>();
      const running = db.transaction(async (tx) => {
        await addAccount(tx, "a@example.org");
        const inside = await countAccounts(tx);
        wrote.resolve();
        await go.promise;
        return inside;
      });
      await wrote.promise;
      const outside = countAccounts(db);
      if (engine.isSingle !== true) expect(await outside).toBe(0);
      go.resolve();
      expect(await running).toBe(1);
      if (engine.isSingle === true) expect(await outside).toBe(1);
      expect(await countAccounts(db)).toBe(1);
    });

    test("retry instead of both acting on rows that the other changes", async () => {
      const db = await openEmpty();
      await db.run("INSERT INTO counters (name, value) VALUES ('a', 1), ('b', 1)");
      // Each may take one from its own counter as long as the sum stays above one: only one of them may.
      const take = (counter: string) =>
        db.transaction(async (tx) => {
          const row = await tx.get<{ total: number }>("SELECT sum(value) AS total FROM counters");
          if ((row?.total ?? 0) < 2) return false;
          await tx.run("UPDATE counters SET value = value - 1 WHERE name = ?", counter);
          return true;
        });
      const taken = await Promise.all([take("a"), take("b")]);
      expect(taken.filter(Boolean)).toHaveLength(1);
      expect(await db.get("SELECT sum(value) AS total FROM counters")).toEqual({ total: 1 });
    });

    test("refuse their tx after their end", async () => {
      const db = await openEmpty();
      const tx = await db.transaction(async (inner) => inner);
      await expect(addAccount(tx, "late@example.org")).rejects.toMatchObject({ code: "failed" });
      await expect(countAccounts(tx)).rejects.toThrow("has ended");
      expect(await countAccounts(db)).toBe(0);
    });

    test("refuse the database inside their callback", async () => {
      const db = await openEmpty();
      const uses: (() => Promise<unknown>)[] = [
        () => countAccounts(db),
        () => db.all("SELECT id FROM accounts"),
        () => addAccount(db, "a@example.org"),
        () => db.transaction(async () => 1),
      ];
      for (const use of uses) {
        await expect(db.transaction(async () => use())).rejects.toMatchObject({ code: "failed" });
        await expect(db.transaction(async () => use())).rejects.toThrow("instead of its tx");
      }
      expect(await countAccounts(db)).toBe(0);
    });

    test("release the database to work that a callback started without awaiting it", async () => {
      const db = await openEmpty();
      const ended = Promise.withResolvers<void>();
      const later = await db.transaction(async () => [ended.promise.then(() => countAccounts(db))]);
      ended.resolve();
      expect(await later[0]).toBe(0);
    });

    test("transactions are undone and reported when they do not end", async () => {
      const stuck: string[] = [];
      const db = await openEmpty({
        transactionTimeoutMs: 20,
        onStuck: (message) => stuck.push(message),
      });
      const never = new Promise<never>(() => {});
      let inner: Pick<Database, "run"> | undefined;
      const running = db.transaction(async (tx) => {
        inner = tx;
        await addAccount(tx, "a@example.org");
        await never;
      });
      const waiting = addAccount(db, "b@example.org");
      await expect(running).rejects.toMatchObject({ code: "failed" });
      await waiting;
      expect(stuck).toHaveLength(1);
      await expect(addAccount(inner!, "c@example.org")).rejects.toThrow("has ended");
      expect(await db.all("SELECT email FROM accounts")).toEqual([{ email: "b@example.org" }]);
    });

    test("transactions do not wait for each other when one of a thousand throws", async () => {
      const db = await openEmpty();
      const results = await Promise.allSettled(
        Array.from({ length: 1_000 }, (_, index) =>
          index === 500
            ? db.transaction(() => Promise.reject(new Error("one")))
            : db.run("INSERT INTO things (amount) VALUES (?)", index),
        ),
      );
      expect(results.filter((result) => result.status === "rejected")).toHaveLength(1);
      expect(await db.get("SELECT count(*) AS n FROM things")).toEqual({ n: 999 });
    });
  });

  describe(`${name}: closing`, () => {
    test("finishes running transactions and refuses the rest", async () => {
      const db = await openEmpty();
      const write = addAccount(db, "a@example.org");
      const transaction = db.transaction(async (tx) => {
        await addAccount(tx, "b@example.org");
        return countAccounts(tx);
      });
      const closing = db.close();
      await expect(countAccounts(db)).rejects.toMatchObject({ code: "closed" });
      await expect(db.run("DELETE FROM accounts")).rejects.toMatchObject({ code: "closed" });
      await expect(db.transaction(async () => 1)).rejects.toMatchObject({ code: "closed" });
      expect(await write).toEqual({ changes: 1 });
      expect(await transaction).toBeGreaterThanOrEqual(1);
      await closing;
      await expect(countAccounts(db)).rejects.toMatchObject({ code: "closed" });
    });

    test("closing twice is harmless", async () => {
      const db = await openEmpty();
      await Promise.all([db.close(), db.close()]);
      await db.close();
    });
  });
}
