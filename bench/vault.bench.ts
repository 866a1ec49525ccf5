import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Agent, request } from "undici";
import { makeHome, PASSWORD } from "./daemon.ts";
import {
  atLeast,
  atMost,
  findProgram,
  load,
  median,
  ratio,
  report,
  startChild,
} from "./measure.ts";

// The vault's accounts: sign-ins against the bare hash, a signed-in request against a bare h3 handler, and whether the
// time of a refused sign-in reveals that an account exists.

const ROUNDS = 5;
const SECONDS = 3;
const CLIENTS = 8;
const TRIES = 200;
const EMAIL = "keeper@example.org";

await using home = await makeHome();
const daemon = await home.serve();
const agent = new Agent({ connections: CLIENTS, pipelining: 1 });
const headers = { "content-type": "application/json", "user-agent": "bench" };

await measureSignIns();
await measureTiming();
await measureReads();
await agent.close();
await daemon.end("SIGTERM");

async function signIn(
  email = EMAIL,
  password = PASSWORD,
): Promise<{ status: number; token: string }> {
  const { statusCode, body } = await request(`${daemon.url}/api/auth/login`, {
    method: "POST",
    dispatcher: agent,
    headers,
    body: JSON.stringify({ email, password }),
  });
  const { access_token: token = "" } = (await body.json()) as { access_token?: string };
  return { status: statusCode, token };
}

async function signInsPerSecond(): Promise<number> {
  const begun = performance.now();
  const until = begun + SECONDS * 1000;
  let count = 0;
  const client = async () => {
    while (performance.now() < until) {
      const { status } = await signIn();
      if (status !== 200) throw new Error(`a sign-in was answered ${status}`);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return count / ((performance.now() - begun) / 1000);
}

async function measureSignIns(): Promise<void> {
  const bare = fork(join(import.meta.dirname, "bare-argon2.ts"), {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  await once(bare.stdout ?? bare, "data");
  const hashesPerSecond = async () => {
    bare.send(SECONDS);
    const [rate] = (await once(bare, "message")) as [number];
    return rate;
  };
  const measured = await ratio(ROUNDS, signInsPerSecond, hashesPerSecond);
  bare.kill("SIGTERM");
  report("Sign-ins", "A sign-in is the hash of its password and little else.", [
    { label: "bare argon2id check, all cores", value: `${measured.b.toFixed(1)} /s` },
    { label: `sign-ins, ${CLIENTS} clients`, value: `${measured.a.toFixed(1)} /s` },
    atLeast("ratio", measured.ratio, 0.8),
  ]);
}

/** Alternately an unknown address and a wrong password, one at a time. */
async function measureTiming(): Promise<void> {
  const times = { unknown: [] as number[], wrong: [] as number[] };
  const time = async (email: string) => {
    const begun = performance.now();
    const { status } = await signIn(email, "wrong");
    if (status !== 401) throw new Error(`a refused sign-in was answered ${status}`);
    return performance.now() - begun;
  };
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    times.unknown.push(await time("nobody@example.org"));
    times.wrong.push(await time(EMAIL));
  }
  const unknown = median(times.unknown);
  const wrong = median(times.wrong);
  report(
    `Refused sign-ins, medians of ${TRIES}`,
    "The time of a refusal must not tell whether an address is known.",
    [
      { label: "unknown address", value: `${unknown.toFixed(2)} ms` },
      { label: "wrong password", value: `${wrong.toFixed(2)} ms` },
      atMost("difference in percent", (Math.abs(unknown - wrong) / wrong) * 100, 5, "%"),
    ],
  );
}

async function measureReads(): Promise<void> {
  if ((await findProgram("wrk")) === undefined) {
    console.log("\nSigned-in requests: skipped, wrk is not installed");
    return;
  }
  const bare = await startChild(process.execPath, [join(import.meta.dirname, "bare-h3.ts")]);
  const { url: bareUrl } = JSON.parse(bare.line) as { url: string };
  const { token } = await signIn();
  const authorized = { Authorization: `Bearer ${token}`, "User-Agent": "bench" };
  const me = `${daemon.url}/api/auth/me`;
  const measured = await ratio(
    ROUNDS,
    () => load(me, { headers: authorized }),
    () => load(`${bareUrl}/api/v1/version`),
  );
  await bare.stop();
  report(
    "Signed-in requests",
    "Authentication, limits and logging may cost half of what a bare handler of the same framework does.",
    [
      { label: "bare h3 handler", value: `${measured.b.toFixed(0)} req/s` },
      { label: "GET /api/auth/me", value: `${measured.a.toFixed(0)} req/s` },
      atLeast("ratio", measured.ratio, 0.5),
    ],
  );

  const idle = await latencies(me, authorized);
  const storm = signInsPerSecond();
  const stormy = await latencies(me, authorized);
  const rate = await storm;
  report(
    "GET /api/auth/me beside a storm of sign-ins",
    "Hashing runs in threads, so people who are signed in should not notice.",
    [
      { label: "sign-ins meanwhile", value: `${rate.toFixed(1)} /s` },
      { label: "median and p99, idle", value: toText(idle) },
      { label: "median and p99, in the storm", value: toText(stormy) },
    ],
  );
}

/** Times of requests that come one after the other with a short pause, as a person's do. */
async function latencies(url: string, more: Record<string, string>): Promise<number[]> {
  const times: number[] = [];
  const until = performance.now() + SECONDS * 900;
  while (performance.now() < until) {
    const begun = performance.now();
    const { body } = await request(url, { headers: more });
    await body.dump();
    times.push(performance.now() - begun);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return times;
}

function toText(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
  return `${median(times).toFixed(2)} and ${p99.toFixed(2)} ms`;
}
