import { join } from "node:path";
import { makeHome } from "./daemon.ts";
import {
  atLeast,
  atMost,
  findProgram,
  load,
  ratio,
  report,
  residentMiB,
  startChild,
} from "./measure.ts";

// JSON routes against a bare h3 handler, start to ready, memory.

const ROUNDS = 5;
const START_AIM_MS = 250;
const IDLE_AIM_MIB = 110;

await using home = await makeHome();
const starts: number[] = [];
for (let i = 0; i < ROUNDS; i += 1) {
  const startedAt = performance.now();
  const daemon = await home.serve();
  starts.push(performance.now() - startedAt);
  await daemon.end("SIGTERM");
}
const daemon = await home.serve();
const idle = await residentMiB(daemon.pid);
report(
  "Start and memory",
  "The daemon starts with a laptop and on small machines, so its start and idle memory are what each user pays.",
  [
    atMost(
      "start to ready, median of 5",
      starts.toSorted((a, b) => a - b)[2] ?? Number.NaN,
      START_AIM_MS,
      "ms",
    ),
    atMost("resident memory, idle", idle, IDLE_AIM_MIB, "MiB"),
  ],
);

if ((await findProgram("wrk")) === undefined) {
  console.log("\nJSON routes: skipped, wrk is not installed");
} else {
  const bare = await startChild(process.execPath, [join(import.meta.dirname, "bare-h3.ts")]);
  const { url: bareUrl } = JSON.parse(bare.line) as { url: string };
  const headers = { Authorization: `token ${home.token}` };
  const version = await ratio(
    ROUNDS,
    () => load(`${daemon.url}/api/v1/version`),
    () => load(`${bareUrl}/api/v1/version`),
  );
  const user = await load(`${daemon.url}/api/v1/user`, { headers });
  report(
    "JSON routes",
    "Validation, limits and logging may cost a part of what a bare handler of the same framework does.",
    [
      { label: "bare h3 handler", value: `${version.b.toFixed(0)} req/s` },
      { label: "GET /api/v1/version", value: `${version.a.toFixed(0)} req/s` },
      atLeast("ratio", version.ratio, 0.6),
      { label: "GET /api/v1/user, with a token", value: `${user.toFixed(0)} req/s` },
    ],
  );
  await bare.stop();
}
await daemon.end("SIGTERM");
