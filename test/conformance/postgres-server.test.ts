import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, vi } from "vitest";
import { migrate, readMigrations } from "../../storage/engine/migrate.ts";
import { openDatabase } from "../../storage/engine/open.ts";
import { openPostgres } from "../../storage/engine/postgres.ts";
import type { PostgresDatabase } from "../../storage/engine/postgres.ts";
import { createServerDatabases } from "../support/storage/postgres-server.ts";
import { skipUnless } from "../support/skip.ts";

const serverUrl = process.env["CROFT_TEST_POSTGRES_URL"];
const onServer = skipUnless(serverUrl, "CROFT_TEST_POSTGRES_URL names no PostgreSQL server");

onServer.describe("a PostgreSQL server", () => {
  const databases = createServerDatabases(serverUrl ?? "");
  let url: string;
  beforeAll(async () => {
    url = await databases.create();
    const db = await openPostgres({ url, clock: Date.now });
    await db.run("CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL)");
    await db.run("INSERT INTO counters (name, value) VALUES ('a', 0), ('b', 0)");
    await db.close();
  });
  afterAll(() => databases.dropAll());

  async function open(): Promise<PostgresDatabase> {
    const db = await openPostgres({ url, clock: Date.now });
    onTestFinished(() => db.close());
    return db;
  }
  const bump = "UPDATE counters SET value = value + 1 WHERE name = ?";
  const read = async (db: Pick<PostgresDatabase, "get">, name: string) =>
    (await db.get<{ value: number }>("SELECT value FROM counters WHERE name = ?", name))?.value ??
    NaN;

  onServer("a transaction whose row another one changed runs again and counts both", async () => {
    const [one, other] = [await open(), await open()];
    const before = await read(one, "a");
    let runs = 0;
    await one.transaction(async (tx) => {
      runs++;
      const value = await read(tx, "a");
      // From the outside and only once: the callback itself may await nothing else.
      if (runs === 1) await other.run(bump, "a");
      await tx.run("UPDATE counters SET value = ? WHERE name = 'a'", value + 1);
    });
    expect(runs).toBe(2);
    expect(await read(one, "a")).toBe(before + 2);
  });

  onServer("two daemons that count in the same row lose nothing", async () => {
    const both = [await open(), await open()];
    const before = await read(both[0]!, "b");
    await Promise.all(
      both.flatMap((db) =>
        Array.from({ length: 40 }, (_, index) =>
          index % 2 === 0
            ? db.run(bump, "b")
            : db.transaction(async (tx) => {
                const value = await read(tx, "b");
                await tx.run("UPDATE counters SET value = ? WHERE name = 'b'", value + 1);
              }),
        ),
      ),
    );
    expect(await read(both[0]!, "b")).toBe(before + 80);
  });

  onServer(
    "a long transaction commits beside short ones of another daemon that conflict with it",
    async () => {
      const [one, other] = [await open(), await open()];
      await one.run("INSERT INTO counters (name, value) VALUES ('long', 0)");
      const sum = "SELECT sum(value) AS total FROM counters";
      let isDone = false;
      let conflicts = 0;
      const workers = Array.from({ length: 6 }, async () => {
        while (!isDone)
          await other.transaction(async (tx) => {
            await tx.get(sum);
            await tx.run(bump, "a");
          });
      });
      const long = one.transaction(async (tx) => {
        conflicts += 1;
        await tx.get(sum);
        for (let statement = 0; statement < 300; statement += 1) await tx.get("SELECT 1 AS one");
        await tx.run(bump, "long");
        await tx.run("INSERT INTO counters (name, value) VALUES (?, 0)", `long ${conflicts}`);
      });
      await long.finally(async () => {
        isDone = true;
        await Promise.all(workers);
      });
      expect(await read(one, "long")).toBe(1);
      expect(conflicts).toBeGreaterThan(1);
    },
    30_000,
  );

  onServer("reads find a connection while every writer waits for a row", async () => {
    const db = await open();
    const blocker = new pg.Client({ connectionString: url });
    await blocker.connect();
    await blocker.query("BEGIN; UPDATE counters SET value = value WHERE name = 'a'");
    const writes = Array.from({ length: 30 }, () => db.run(bump, "a"));
    expect(await read(db, "b")).toBeGreaterThanOrEqual(0);
    await blocker.query("ROLLBACK");
    await blocker.end();
    expect(await Promise.all(writes)).toHaveLength(30);
  });

  onServer("connections that the server ends are replaced", async () => {
    const db = await open();
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    const end = () =>
      admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'croft' AND datname = current_database()",
      );
    const broken = db.transaction(async (tx) => {
      await tx.run(bump, "a");
      await end();
      await tx.run(bump, "a");
    });
    await expect(broken).rejects.toMatchObject({ name: "StorageError", code: "busy" });
    const before = await read(db, "a");
    await db.run(bump, "a");
    expect(await read(db, "a")).toBe(before + 1);
    await admin.end();
  });

  onServer(
    "what a frozen connection leaves without an answer fails, and the next has another",
    async () => {
      const asks: ((db: PostgresDatabase) => Promise<unknown>)[] = [
        (db) => read(db, "a"),
        (db) => db.run(bump, "a"),
        (db) => db.transaction((tx) => tx.run(bump, "a")),
      ];
      onTestFinished(() => void vi.useRealTimers());
      for (const ask of asks) {
        await using line = await openLine(url);
        const db = await openPostgres({ url: line.url, clock: Date.now });
        line.freeze();
        vi.useFakeTimers({ toFake: ["setTimeout"] });
        const asked = ask(db).catch((error: unknown) => error);
        await line.swallowed;
        vi.advanceTimersByTime(25_000);
        vi.useRealTimers();
        expect(await asked).toMatchObject({ name: "StorageError", code: "busy" });
        await ask(db);
        await db.close();
      }
    },
  );

  onServer("a wrong password or an absent database is refused without the password", async () => {
    const wrong = new URL(url);
    wrong.password = "hunter2";
    const refused = openPostgres({ url: wrong.href, clock: Date.now });
    await expect(refused).rejects.toMatchObject({ code: "failed" });
    await expect(refused).rejects.toThrow(`connecting to ${wrong.host}${wrong.pathname}`);
    await expect(refused).rejects.not.toThrow("hunter2");
    const absent = new URL(url);
    absent.pathname = "/nowhere";
    await expect(openPostgres({ url: absent.href, clock: Date.now })).rejects.toThrow("3D000");
  });

  onServer("a database of a later croft is refused with what helps there", async () => {
    const db = await openPostgres({ url: await databases.create(), clock: Date.now });
    const later = { version: 9999, name: "later", script: "SELECT 1", hash: "" };
    await migrate(db, [later]);
    const refused = migrate(db, readMigrations());
    await expect(refused).rejects.toThrow("9999_later");
    await expect(refused).rejects.toThrow("restore a backup with the server's own tools");
    await db.close();
  });

  onServer("two daemons that start together on an empty database migrate it once", async () => {
    const empty = await databases.create();
    const options = { dataDirectory: "/nowhere", clock: Date.now };
    const started = await Promise.all([1, 2, 3].map(() => openDatabase(empty, options)));
    const [first] = started;
    const steps = await first!.get("SELECT count(*) AS n FROM schema_migrations");
    expect(steps).toEqual({ n: readMigrations().length });
    await migrate(first as PostgresDatabase, readMigrations());
    await Promise.all(started.map((db) => db.close()));
  });
});

/** A way to a server whose connections can be cut off without being closed. */
interface Line extends AsyncDisposable {
  readonly url: string;
  /** From now on nothing passes on the connections that there are; new ones pass. */
  freeze(): void;
  /** Resolves when something was sent on a frozen connection. */
  readonly swallowed: Promise<void>;
}

async function openLine(serverUrl: string): Promise<Line> {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const frozen = new Set<Socket>();
  const swallowed = Promise.withResolvers<void>();
  const server = createServer((near) => {
    const far = connect(Number(port || 5432), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("data", (data) => {
        if (frozen.has(from)) swallowed.resolve();
        else to.write(data);
      });
      from.on("close", () => to.destroy()).on("error", () => to.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    freeze: () => {
      for (const socket of sockets) frozen.add(socket);
    },
    swallowed: swallowed.promise,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
