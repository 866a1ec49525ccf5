import { Agent, request as openRequest, type IncomingHttpHeaders } from "node:http";
import fc from "fast-check";
import { allEndpoints } from "../../../daemon/contract/all.ts";
import type { Endpoint } from "../../../daemon/contract/endpoint.ts";
import type { Callers, FuzzHome } from "./fuzz-home.ts";
import { type FuzzRequest, requestsTo, toTarget } from "./requests.ts";
import { createSeenValues } from "./seen-values.ts";
import { type FuzzAnswer, judge } from "./verdict.ts";

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

/**
 * Sends every operation one request after the other, to a copy of the home each time round, until so many are sent.
 * Operations that take the callers' rights away come last in a round.
 */
export async function fuzz(home: FuzzHome, options: FuzzOptions) {
  const endpoints = allEndpoints as readonly Endpoint[];
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
    const orders = fc.sample(fc.nat(), { seed, numRuns: endpoints.length });
    const requests = endpoints
      .map((declared, index) => ({
        request: fc.sample(requestsTo(declared), {
          seed: seed ^ hashOf(declared.name),
          numRuns: 1,
        })[0],
        order: (orders[index] ?? 0) / 2 ** 31 + toPhase(declared),
      }))
      .toSorted((one, other) => one.order - other.order)
      .slice(0, options.requests - sent);
    const { daemon, callers } = await home.start();
    const send = createSender(daemon.url, callers);
    for (const { request } of requests) {
      if (request === undefined) continue;
      const { answer, description } = await send(request);
      sent += 1;
      const name = request.declared.name;
      statuses.set(name, (statuses.get(name) ?? new Set()).add(answer?.status ?? 0));
      const cpuMs = Math.round(answer?.cpuMs ?? 0);
      if (cpuMs > slowest.cpuMs) slowest = { operation: name, cpuMs };
      const wrong = answer === undefined ? "did not answer" : judge(request, answer);
      if (wrong !== undefined) note(findings, name, wrong, `${description} (seed ${seed})`);
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
  const send = async (request: FuzzRequest) => {
    const { target, isStrange } = toTarget(request, seen);
    const { declared, caller, body } = request;
    const headers = { ...request.headers, ...callers[caller] };
    const description = `${declared.method} ${target.slice(0, 400)} as ${caller} ${JSON.stringify(request.headers).slice(0, 200)} ${body === undefined ? "" : JSON.stringify(body.toString("utf8").slice(0, 600))}`;
    const before = process.cpuUsage();
    const read = await exchange({ url, target, method: declared.method, headers, body, agent });
    const { user, system } = process.cpuUsage(before);
    if (read === undefined) return { answer: undefined, description };
    const answer: FuzzAnswer = { ...read, isStrange, cpuMs: (user + system) / 1000 };
    if (answer.status < 300 && String(read.headers["content-type"]).includes("json"))
      seen.read(declared.name, parse(answer.text));
    return {
      answer,
      description: `${description} -> ${answer.status} ${answer.text.slice(0, 300)}`,
    };
  };
  return Object.assign(send, { close: () => agent.destroy() });
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
