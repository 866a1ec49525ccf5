import { randomUUID } from "node:crypto";
import pg from "pg";

/** Databases of its own on a running server, so that tests never touch existing ones. */
export interface ServerDatabases {
  /** Makes an empty database, or a copy of `template`, and gives its address. A name is one of `toWorkerTemplateName`. */
  create(template?: string, name?: string): Promise<string>;
  /** Throws all tables of one of them away: a new schema takes a tenth of the time of a new database. */
  clear(url: string): Promise<void>;
  /** Drops the databases of `create`. */
  dropAll(): Promise<void>;
}

/** `serverUrl` names any database of a user who may create others. */
export function createServerDatabases(serverUrl: string): ServerDatabases {
  const made: string[] = [];
  return {
    async create(template = "template1", name = `croft_test_${randomUUID().replaceAll("-", "")}`) {
      await administer(serverUrl, [`CREATE DATABASE ${name} TEMPLATE ${template}`]);
      made.push(name);
      return toAddress(serverUrl, name);
    },
    clear: (url) => administer(url, ["DROP SCHEMA public CASCADE", "CREATE SCHEMA public"]),
    dropAll: () =>
      administer(
        serverUrl,
        made.map((name) => `DROP DATABASE ${name} WITH (FORCE)`),
      ),
  };
}

/** The variable by which the workers of one run find the same template. */
const RUN_VARIABLE = "CROFT_TEST_RUN";

/** Returns the template of this run of vitest; the first worker that needs it has `fill` make its content. */
export async function withTemplate(
  serverUrl: string,
  fill: (url: string) => Promise<void>,
): Promise<string> {
  const name = toTemplateName(process.env[RUN_VARIABLE] ?? randomUUID());
  const unfinished = `${name}_unfinished`;
  const client = await connect(serverUrl);
  try {
    await client.query("SELECT pg_advisory_lock(hashtext($1))", [name]);
    const found = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [name]);
    if (found.rowCount === 0) {
      await client.query(`CREATE DATABASE ${unfinished}`);
      await fill(toAddress(serverUrl, unfinished));
      await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${name}`);
    }
    return name;
  } finally {
    await client.end();
  }
}

/** The global setup of vitest: names the run. */
export function setup(): void {
  process.env[RUN_VARIABLE] ??= randomUUID();
}

/** The end of a run of vitest: drops its templates. */
export async function teardown(): Promise<void> {
  const serverUrl = process.env["CROFT_TEST_POSTGRES_URL"];
  const run = process.env[RUN_VARIABLE];
  if (serverUrl === undefined || run === undefined) return;
  const client = await connect(serverUrl);
  try {
    const { rows } = await client.query<{ datname: string }>(
      "SELECT datname FROM pg_database WHERE starts_with(datname, $1)",
      [toTemplateName(run)],
    );
    for (const { datname } of rows)
      await client.query(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`);
  } finally {
    await client.end();
  }
}

/** The name of a template of this worker, which the end of the run drops. */
export function toWorkerTemplateName(): string {
  return `${toTemplateName(process.env[RUN_VARIABLE] ?? randomUUID())}_${process.pid}`;
}

function toTemplateName(run: string): string {
  return `croft_test_template_${run.replaceAll("-", "").slice(0, 12)}`;
}

function toAddress(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = database;
  return url.href;
}

async function administer(url: string, statements: readonly string[]): Promise<void> {
  if (statements.length === 0) return;
  const client = await connect(url);
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}
