import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Agent, FormData, request } from "undici";
import { makeTokenSecret } from "../daemon/forge/accounts/tokens.service.ts";
import {
  hashMachineToken,
  makeMachineToken,
} from "../daemon/vault/accounts/machine-token-secret.ts";
import { makeHome, PASSWORD } from "./daemon.ts";
import { atMost, median, report, residentMiB } from "./measure.ts";

// 1,000 users at work against 10: mixed reads and writes of both APIs, by turns on two homes, and the processor time of a
// request. Ten accounts share a repository in each, so the large home has a hundred times as much of everything.
// CROFT_BENCH_PART=0.1 takes a tenth of the users, CROFT_BENCH_SECONDS=60 a minute instead of ten.

const SECONDS = Number(process.env["CROFT_BENCH_SECONDS"] ?? 600);
const MANY = Math.round(1_000 * Number(process.env["CROFT_BENCH_PART"] ?? 1));
const FEW = 10;
const ACCOUNTS_OF_REPOSITORY = 10;
const ISSUES_OF_REPOSITORY = 20;
const CONNECTIONS = 20;
/** The homes take turns, so that both meet the same machine. */
const ROUND_SECONDS = Math.min(15, SECONDS / 4);
/** Rounds that load code and fill caches. */
const WARM_UP_ROUNDS = 1;

const settings = { CROFT_ALLOW_REGISTRATION: "on" };

interface Person {
  readonly name: string;
  readonly repository: string;
  readonly forge: string;
  readonly vault: string;
  /** The token of the owner of the repository, who may change its issues. */
  readonly owner: string;
}

const agent = new Agent({ connections: CONNECTIONS, pipelining: 1 });

interface Call {
  readonly method?: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly token?: string;
  readonly json?: object;
  readonly form?: FormData;
}

async function openHome(people: number) {
  const home = await makeHome();
  const daemon = await home.serve(settings);
  const failed = new Map<string, number>();

  /** Sends a request and reads the whole answer. */
  async function send({ method = "GET", path, token, json, form }: Call): Promise<string> {
    const answer = await request(daemon.url + path, {
      method,
      dispatcher: agent,
      headers: {
        ...(token === undefined ? {} : { authorization: token }),
        ...(json === undefined ? {} : { "content-type": "application/json" }),
      },
      body: json === undefined ? (form ?? null) : JSON.stringify(json),
    });
    const text = await answer.body.text();
    const label = `${method} ${path.replace(/\d+/g, "0")} ${answer.statusCode}`;
    if (answer.statusCode >= 400) failed.set(label, (failed.get(label) ?? 0) + 1);
    return text;
  }

  const admin = `token ${home.token}`;
  const names = Array.from({ length: people }, (_, at) => `person${at}`);
  await inTurn(names, async (name) => {
    const email = `${name}@example.org`;
    const account = { username: name, email, password: PASSWORD, must_change_password: false };
    await send({ method: "POST", path: "/api/v1/admin/users", token: admin, json: account });
    const own = { handle: name, email, password: PASSWORD };
    await send({ method: "POST", path: "/api/auth/register", json: own });
  });
  const tokens = addTokens(join(home.home, "croft.db"), names);
  const persons = names.map((name, at): Person => {
    const { forge = "", vault = "" } = tokens.get(name) ?? {};
    const owner = tokens.get(`person${at - (at % ACCOUNTS_OF_REPOSITORY)}`)?.forge ?? "";
    return { name, repository: repositoryOf(at), forge, vault, owner };
  });
  const owners = persons.filter((_, at) => at % ACCOUNTS_OF_REPOSITORY === 0);
  await inTurn(owners, async ({ forge: token, repository }) => {
    const [, name] = repository.split("/");
    await send({
      method: "POST",
      path: "/api/v1/user/repos",
      token,
      json: { name, auto_init: true },
    });
    for (let at = 1; at <= ISSUES_OF_REPOSITORY; at += 1)
      await send({
        method: "POST",
        path: `/api/v1/repos/${repository}/issues`,
        token,
        json: { title: `Shelf ${at}`, body: "Cracked after the firing." },
      });
  });
  const upload = async ({ name, vault }: Person, number: number) => {
    const form = new FormData();
    form.set("filename", `${name} ${number}.txt`);
    form.set(
      "file",
      new Blob([`Notes of ${name} about kiln ${number}, ${randomBytes(8).toString("hex")}`]),
    );
    await send({ method: "POST", path: "/api/documents/upload", token: vault, form });
  };
  await inTurn(persons, async (person) => {
    await upload(person, 0);
    await upload(person, 1);
  });

  /** A turn of a person: what an hour at work has, four reads of five. */
  const calls: readonly ((person: Person, number: number) => Promise<unknown>)[] = [
    ({ forge: token }) => send({ path: "/api/v1/user", token }),
    ({ forge: token, repository }, number) =>
      send({ path: `/api/v1/repos/${repository}/issues/${issueOf(number)}`, token }),
    ({ vault: token }) => send({ path: "/api/documents?limit=20", token }),
    ({ forge: token, repository }, number) =>
      send({
        method: "POST",
        path: `/api/v1/repos/${repository}/issues/${issueOf(number)}/comments`,
        token,
        json: { body: `Seen in round ${number}.` },
      }),
    ({ forge: token, repository }) =>
      send({ path: `/api/v1/repos/${repository}/issues?limit=20`, token }),
    ({ vault: token }) => send({ path: "/api/search?q=kiln&limit=20", token }),
    ({ forge: token }) => send({ path: "/api/v1/notifications?limit=20", token }),
    ({ forge: token, repository }) =>
      send({ path: `/api/v1/repos/${repository}/contents/README.md`, token }),
    ({ forge: token }, number) =>
      send({ path: `/api/v1/repos/search?q=repository${number % 10}&limit=20`, token }),
    (person, number) => upload(person, number),
    ({ repository }) => send({ path: `/${repository}/issues` }),
    ({ forge: token }, number) =>
      send({ path: `/api/v1/users/search?q=person${number % 10}&limit=20`, token }),
    ({ owner: token, repository }, number) =>
      send({
        method: "PATCH",
        path: `/api/v1/repos/${repository}/issues/${issueOf(number)}`,
        token,
        json: { title: `Shelf ${number}` },
      }),
    ({ vault: token }) => send({ path: "/api/topics", token }),
    ({ forge: token }) => send({ path: "/api/v1/user/repos?limit=20", token }),
  ];

  const costs: number[] = [];
  let sent = 0;
  return {
    people,
    costs,
    failed,
    pid: daemon.pid,
    /** Works for one round, and notes the processor time of a request in milliseconds. */
    async work(isMeasured: boolean): Promise<void> {
      const before = { seconds: processorSeconds(daemon.pid), sent };
      const until = performance.now() + ROUND_SECONDS * 1_000;
      const one = async () => {
        while (performance.now() < until) {
          const number = (sent += 1);
          // Another person with each request; 7 shares no factor with the number of calls or people.
          const person = persons[(number * 7) % persons.length];
          if (person !== undefined) await calls[number % calls.length]?.(person, number);
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, one));
      const seconds = processorSeconds(daemon.pid) - before.seconds;
      if (isMeasured) costs.push((seconds * 1_000) / (sent - before.sent));
    },
    sent: () => sent,
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

function repositoryOf(at: number): string {
  const group = Math.floor(at / ACCOUNTS_OF_REPOSITORY);
  return `person${group * ACCOUNTS_OF_REPOSITORY}/repository${group}`;
}

const issueOf = (number: number) => (number % ISSUES_OF_REPOSITORY) + 1;

/** Runs `work` for each value, a few at a time. */
async function inTurn<T>(values: readonly T[], work: (value: T) => Promise<void>): Promise<void> {
  const left = values.values();
  const one = async () => {
    for (const value of left) await work(value);
  };
  await Promise.all(Array.from({ length: 4 }, one));
}

/** Adds tokens of both APIs as rows: a sign-in of each would take longer than the measurement. */
function addTokens(file: string, names: readonly string[]) {
  const db = new DatabaseSync(file, { timeout: 10_000 });
  const forge = db.prepare(
    `INSERT INTO forge_access_tokens (user_id, name, last_eight, salt, hash, scope, created_at, last_used_at)
     SELECT id, 'bench', ?, ?, ?, 'all', ?, ? FROM forge_users WHERE lower_name = ?`,
  );
  const vault = db.prepare(
    `INSERT INTO vault_machine_tokens (id, user_id, name, scope, token_hash, created_at)
     SELECT ?, id, 'bench', 'write', ?, ? FROM vault_users WHERE handle_key = ?`,
  );
  const now = Date.now();
  db.exec("BEGIN IMMEDIATE");
  const tokens = names.map((name) => {
    const { secret, lastEight, salt, hash } = makeTokenSecret(randomBytes);
    const machine = makeMachineToken(randomBytes);
    forge.run(lastEight, salt, hash, now, now, name);
    vault.run(crypto.randomUUID(), hashMachineToken(machine), now, name);
    return [name, { forge: `token ${secret}`, vault: `Bearer ${machine}` }] as const;
  });
  db.exec("COMMIT");
  db.close();
  return new Map(tokens);
}

/** Processor time of a process and of its children that have ended, in seconds (proc_pid_stat(5)). */
function processorSeconds(pid: number): number {
  const ticks = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ")
    .slice(11, 15)
    .map(Number);
  return ticks.reduce((sum, value) => sum + value, 0) / 100;
}

await using few = await openHome(FEW);
await using many = await openHome(MANY);
const memory: number[] = [];
const rounds = Math.max(1, Math.round(SECONDS / ROUND_SECONDS / 2));
for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
  await few.work(round >= 0);
  await many.work(round >= 0);
  if (round >= 0) memory.push(await residentMiB(many.pid));
}
await agent.close();
const failures = [few, many].flatMap(({ failed }) => [...failed]);
const costs = { few: median(few.costs), many: median(many.costs) };
report(
  `${MANY} users at work against ${FEW}, for ${SECONDS} s`,
  "A request must not cost more because more people use the home: indexes may be deeper, answers are of the same size.",
  [
    { label: "requests", value: `${few.sent()} and ${many.sent()}` },
    {
      label: "requests that failed",
      value: failures.map(([label, count]) => `${label}: ${count}`).join("; ") || "none",
    },
    atMost(
      "requests that failed, count",
      failures.reduce((sum, [, count]) => sum + count, 0),
      0,
      "",
    ),
    {
      label: "processor time of a request",
      value: `${costs.few.toFixed(2)} -> ${costs.many.toFixed(2)} ms`,
    },
    atMost("processor time of a request, ratio", costs.many / costs.few, 3, ""),
    {
      label: "memory of the large home",
      value: `${memory.map((mib) => mib.toFixed(0)).join(", ")} MiB`,
    },
  ],
);
