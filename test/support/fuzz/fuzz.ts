import { Agent, request as openRequest, type IncomingHttpHeaders } from "node:http";
import fc from "fast-check";
import { allEndpoints } from "../../../daemon/contract/all.ts";
import type { Endpoint } from "../../../daemon/contract/endpoint.ts";
import type { Callers, FuzzHome } from "./fuzz-home.ts";
import { type FuzzRequest, requestsTo, toTarget } from "./requests.ts";
import { createSeenValues } from "./seen-values.ts";
import { CPU_MS_MAX, type FuzzAnswer, judge } from "./verdict.ts";

/** What an operation did against the contract, with the first request that made it so. */
export interface Finding {
  readonly operation: string;
  readonly wrong: string;
  readonly request: string;
  readonly times: number;
}

export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  /** Slow operations get fewer requests than others, so that many are sent; the same seed then sends others each time. */
  readonly isSpreadByTime?: boolean;
  /** Epoch milliseconds after which no further home is started. */
  readonly until?: number;
  readonly onHome?: (sent: number, findings: readonly Finding[], slowest: Slowest) => void;
}

/** The request that took the most processor time of the daemon and the test. */
export interface Slowest {
  readonly operation: string;
  readonly cpuMs: number;
}

/** Longest wait for an answer: a request without one is a finding. */
const ANSWER_MS = 60_000;

/** An operation with its requests, which are costly to describe and cheap to draw. */
interface Operation {
  readonly declared: Endpoint;
  readonly requests: fc.Arbitrary<FuzzRequest>;
  readonly phase: number;
}

/**
 * Sends every operation requests one after the other, to a copy of the home each time round, until so many are sent.
 * Operations that take the callers' rights away come last in a round.
 */
export async function fuzz(home: FuzzHome, options: FuzzOptions) {
  const operations = (allEndpoints as readonly Endpoint[]).map((declared) => ({
    declared,
    requests: requestsTo(declared),
    phase: toPhase(declared),
  }));
  const shares = createShares(options.isSpreadByTime);
  const findings = new Map<string, Finding>();
  const statuses = new Map<string, Set<number>>();
  let sent = 0;
  let slowest: Slowest = { operation: "none", cpuMs: 0 };
  for (
    let round = 0;
    sent < options.requests && Date.now() < (options.until ?? Infinity);
    round += 1
  ) {
    const seed = options.seed + round;
    const requests = drawRound(operations, seed, {
      countRequests: shares.next(),
      max: options.requests - sent,
    });
    const { daemon, callers } = await home.start();
    const send = createSender(daemon.url, callers);
    for (const request of requests) {
      const startedAt = performance.now();
      const { answer, describe } = await send(request);
      sent += 1;
      const name = request.declared.name;
      shares.note(name, performance.now() - startedAt);
      statuses.set(name, (statuses.get(name) ?? new Set()).add(answer?.status ?? 0));
      const cpuMs = Math.round(answer?.cpuMs ?? 0);
      if (cpuMs > slowest.cpuMs) slowest = { operation: name, cpuMs };
      const wrong = answer === undefined ? "did not answer" : judge(request, answer);
      if (wrong !== undefined) note(findings, name, wrong, `${describe()} (seed ${seed})`);
    }
    send.close();
    // What the daemon logged or held up meanwhile belongs to no request that is known.
    try {
      await daemon[Symbol.asyncDispose]();
    } catch (error) {
      note(findings, "the daemon", String(error).slice(0, 1_500), `in the round of seed ${seed}`);
    }
    options.onHome?.(sent, [...findings.values()], slowest);
  }
  return { sent, findings: [...findings.values()], statuses };
}

/** Draws the requests of one round, `max` at most, in a random order within their phases. */
function drawRound(
  operations: readonly Operation[],
  seed: number,
  { countRequests, max }: { countRequests: (operation: string) => number; max: number },
): FuzzRequest[] {
  const drawn = operations.flatMap(({ declared, requests, phase }) =>
    fc
      .sample(fc.record({ request: requests, order: fc.noBias(fc.nat()) }), {
        seed: seed ^ hashOf(declared.name),
        numRuns: countRequests(declared.name),
      })
      .map(({ request, order }) => ({ request, order, phase })),
  );
  return drawn
    .toSorted((one, other) => one.order - other.order)
    .slice(0, max)
    .toSorted((one, other) => one.phase - other.phase)
    .map(({ request }) => request);
}

/** Requests of a round to each operation, and to one that takes no longer than the average when they are spread by time. */
const USUAL_REQUESTS = 2;
const SPREAD_REQUESTS = 4;

/** Decides by the time of earlier requests how many an operation gets in a round: slow ones get fewer, but at least one. */
function createShares(isSpreadByTime = false) {
  const times = new Map<string, { readonly count: number; readonly ms: number }>();
  const meanOf = (operation: string) => {
    const { count, ms } = times.get(operation) ?? { count: 1, ms: Infinity };
    return ms / count;
  };
  return {
    note(operation: string, ms: number): void {
      const before = times.get(operation) ?? { count: 0, ms: 0 };
      times.set(operation, { count: before.count + 1, ms: before.ms + ms });
    },
    /** Returns the number of requests of each operation in the next round. */
    next(): (operation: string) => number {
      if (!isSpreadByTime) return () => USUAL_REQUESTS;
      const means = [...times.keys()].map(meanOf);
      const usualMs = means.reduce((sum, mean) => sum + mean, 0) / Math.max(means.length, 1);
      return (operation) => {
        const affordable = Math.floor((SPREAD_REQUESTS * usualMs) / meanOf(operation));
        return Math.max(1, Math.min(SPREAD_REQUESTS, affordable));
      };
    },
  };
}

function note(findings: Map<string, Finding>, operation: string, wrong: string, request: string) {
  const key = `${operation} ${wrong}`;
  const known = findings.get(key);
  findings.set(key, {
    operation,
    wrong,
    request: known?.request ?? request,
    times: (known?.times ?? 0) + 1,
  });
}

/** Reads come first, then changes, then what deletes, then what ends the right of a caller. */
function toPhase({ method, name }: Endpoint): number {
  if (
    /logout|password|two_factor|totp|\.users?\.(?:delete|edit|rename|set_status)|tokens?\.delete|sessions?\.delete|(?:repos|orgs)\.(?:delete|rename|transfer)|transfer/.test(
      name,
    )
  )
    return 2;
  if (method === "DELETE") return 1.5;
  return method === "GET" ? 0 : 0.5;
}

function hashOf(text: string): number {
  let hash = 0;
  for (const character of text) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) | 0;
  return hash;
}

/** Sends requests one by one, over connections that stay open, and learns names and ids from the answers. */
function createSender(url: string, callers: Callers) {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const seen = createSeenValues();
  const meter = createMeter();
  const send = async (request: FuzzRequest) => {
    const { target, isStrange } = toTarget(request, seen);
    const { declared, caller, body } = request;
    const headers = { ...request.headers, ...callers[caller] };
    const describe = () =>
      `${declared.method} ${target.slice(0, 400)} as ${caller} ${JSON.stringify(request.headers).slice(0, 200)} ${body === undefined ? "" : JSON.stringify(body.toString("utf8").slice(0, 600))}`;
    const sent = { url, target, method: declared.method, headers, body, agent };
    const spent = meter.start();
    const read = await exchange(sent);
    let cpuMs = spent();
    if (read === undefined) return { answer: undefined, describe };
    // Work of the daemon for earlier requests may have run beside it.
    if (cpuMs > CPU_MS_MAX) {
      const spentAgain = meter.start();
      await exchange(sent);
      cpuMs = Math.min(cpuMs, spentAgain());
    }
    const answer: FuzzAnswer = { ...read, isStrange, cpuMs };
    if (answer.status < 300 && String(read.headers["content-type"]).includes("json"))
      seen.read(declared.name, parse(answer.text));
    return {
      answer,
      describe: () => `${describe()} -> ${answer.status} ${answer.text.slice(0, 300)}`,
    };
  };
  return Object.assign(send, { close: () => agent.destroy() });
}

/** Requests that take less have the processor time that they last. */
const QUICK_MS = 50;

/** Measures processor time. Reading it takes longer than most requests, so a reading may be a little old. */
function createMeter() {
  let last = { at: -Infinity, usage: process.cpuUsage() };
  return {
    /** Returns a function that returns the milliseconds spent since. */
    start(): () => number {
      const startedAt = performance.now();
      if (startedAt - last.at > QUICK_MS) last = { at: startedAt, usage: process.cpuUsage() };
      return () => {
        const tookMs = performance.now() - startedAt;
        if (tookMs < QUICK_MS) return tookMs;
        const { user, system } = process.cpuUsage(last.usage);
        return (user + system) / 1000;
      };
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Sent {
  readonly url: string;
  readonly target: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  readonly agent: Agent;
}

interface Read {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Returns the answer; undefined when the connection closed or nothing came. Event streams are left after their head. */
function exchange({ url, target, method, headers, body, agent }: Sent): Promise<Read | undefined> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const outgoing = openRequest({
      hostname,
      port,
      path: target,
      method,
      // Without it, Node sends the body of a GET as if it were the next request.
      headers: { ...headers, ...(body === undefined ? {} : { "Content-Length": body.length }) },
      agent,
    });
    outgoing.setTimeout(ANSWER_MS, () => outgoing.destroy());
    outgoing.on("error", () => resolve(undefined));
    outgoing.on("response", (incoming) => {
      const { statusCode: status = 0, headers: received } = incoming;
      const chunks: Buffer[] = [];
      const done = () =>
        resolve({ status, headers: received, text: Buffer.concat(chunks).toString() });
      incoming.on("error", () => resolve(undefined));
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", done);
      if (String(received["content-type"]).startsWith("text/event-stream")) {
        done();
        outgoing.destroy();
      }
    });
    outgoing.end(body);
  });
}
