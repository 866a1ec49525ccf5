import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { makeHome } from "./daemon.ts";
import { atMost, median, report, residentMiB } from "./measure.ts";

// 200 connections of mixed reads and writes for a minute: no error, the p99, flat memory, and the event loop's delay.
// CROFT_BENCH_SECONDS=600 goes on for ten minutes.

const SECONDS = Number(process.env["CROFT_BENCH_SECONDS"] ?? 60);
const CONNECTIONS = 200;
const ISSUES = 50;
/** The first seconds load code and fill caches; memory is compared from their end. */
const WARM_UP_SECONDS = 10;

await using home = await makeHome();
await using daemon = await home.serve();
const agent = new Agent({ connections: CONNECTIONS, pipelining: 1 });
/** People at different addresses: limits of one address or client are not what is measured. */
const headersOf = (person: number) => ({
  authorization: `token ${home.token}`,
  "content-type": "application/json",
  "x-forwarded-for": `198.51.100.${(person % CONNECTIONS) + 1}`,
});
let sent = 0;

/** Sends a request and returns its status; the whole body is read. */
async function send(
  method: "GET" | "POST" | "PATCH",
  path: string,
  body?: object,
): Promise<number> {
  const answer = await request(daemon.url + path, {
    method,
    dispatcher: agent,
    headers: headersOf((sent += 1)),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  await answer.body.dump();
  return answer.statusCode;
}

const repository = "/api/v1/repos/keeper/kiln";
await send("POST", "/api/v1/user/repos", { name: "kiln", auto_init: true });
for (let at = 1; at <= ISSUES; at += 1)
  await send("POST", `${repository}/issues`, { title: `Shelf ${at}`, body: "Cracked." });

/** The mix, by turns: four reads of five. */
const calls: readonly ((round: number) => Promise<number>)[] = [
  () => send("GET", "/api/v1/user"),
  (round) => send("GET", `${repository}/issues/${(round % ISSUES) + 1}`),
  () => send("GET", `${repository}/issues?limit=20`),
  (round) =>
    send("POST", `${repository}/issues/${(round % ISSUES) + 1}/comments`, {
      body: `Round ${round}`,
    }),
  () => send("GET", "/api/v1/repos/search?limit=20"),
  () => send("GET", "/keeper/kiln"),
  () => send("GET", "/api/v1/notifications?limit=20"),
  (round) =>
    send("PATCH", `${repository}/issues/${(round % ISSUES) + 1}`, { title: `Shelf ${round}` }),
  () => send("GET", `${repository}/contents/README.md`),
  () => send("GET", "/api/v1/version"),
];

const times: number[] = [];
const statuses = new Map<number, number>();
const memory: number[] = [];
const delays: number[] = [];
const until = performance.now() + SECONDS * 1_000;
let round = 0;

async function work(): Promise<void> {
  while (performance.now() < until) {
    const number = (round += 1);
    const startedAt = performance.now();
    const status = (await calls[number % calls.length]?.(number)) ?? 0;
    times.push(performance.now() - startedAt);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
}

/** The p99 of the event loop's delay that the daemon tells with its metrics, in milliseconds. */
async function readDelay(): Promise<number> {
  const answer = await request(`${daemon.url}/metrics`);
  const text = await answer.body.text();
  return Number(/^croft_nodejs_eventloop_lag_p99_seconds ([\d.e-]+)$/m.exec(text)?.[1]) * 1_000;
}

async function watch(): Promise<void> {
  await sleep(WARM_UP_SECONDS * 1_000);
  while (performance.now() < until) {
    memory.push(await residentMiB(daemon.pid));
    delays.push(await readDelay());
    await sleep(2_000);
  }
}

await Promise.all([...Array.from({ length: CONNECTIONS }, work), watch()]);
await agent.close();
const sorted = times.toSorted((a, b) => a - b);
const at = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
const failed = [...statuses].filter(([status]) => status >= 400 || status === 0);
report(
  `${CONNECTIONS} connections of mixed reads and writes for ${SECONDS} s`,
  "Many people at once wait longer, but nobody is refused, memory stays flat, and the event loop does not stand still.",
  [
    {
      label: "requests",
      value: `${times.length}, ${(times.length / SECONDS).toFixed(0)} a second`,
    },
    {
      label: "statuses",
      value: [...statuses].map(([status, count]) => `${status}: ${count}`).join(", "),
    },
    atMost(
      "requests that failed",
      failed.reduce((sum, [, count]) => sum + count, 0),
      0,
      "",
    ),
    { label: "p50 and p99", value: `${at(0.5).toFixed(0)} and ${at(0.99).toFixed(0)} ms` },
    atMost("p99", at(0.99), 2_000, "ms"),
    atMost(
      "growth of memory after the warm-up",
      (memory.at(-1) ?? 0) - (memory[0] ?? 0),
      64,
      "MiB",
    ),
    atMost("p99 of the event loop's delay, the median of all windows", median(delays), 30, "ms"),
    {
      label: "the highest of all windows of two seconds",
      value: `${Math.max(...delays).toFixed(0)} ms`,
    },
  ],
);
