import { once } from "node:events";
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import type { Dispatcher } from "undici";
import type { Faults } from "../../conformance/cloud-provider.suite.ts";

/** The head of a request. */
export interface ProxiedRequest {
  readonly method: string;
  /** Path and query as they were sent. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface FaultProxyOptions {
  /** Origin of the server behind, such as `http://127.0.0.1:8400`. */
  readonly target: string;
  /** Requests that change something: whose answer `loseNextAnswer` loses. Everything but looking when absent. */
  readonly isChange?: (request: ProxiedRequest) => boolean;
  /** Requests whose answer is a file's bytes: GET when absent. */
  readonly isDownload?: (request: ProxiedRequest) => boolean;
  /** Requests whose body is a file's bytes: PUT when absent. */
  readonly isUpload?: (request: ProxiedRequest) => boolean;
  /** The response of a full storage: 507 when absent. */
  readonly full?: Answer;
}

/** The faults of the network; the others need a cooperating server. */
export type NetworkFaults = Pick<
  Faults,
  | "loseNextAnswer"
  | "cutNextBody"
  | "cutNextUpload"
  | "ignoreNextRange"
  | "compress"
  | "answer"
  | "refuse"
  | "stall"
  | "redirect"
  | "fill"
  | "requests"
  | "clear"
>;

/** The names of `NetworkFaults`, for `SuiteOptions.faults`. */
export const networkFaults: readonly (keyof NetworkFaults)[] = [
  "loseNextAnswer",
  "cutNextBody",
  "cutNextUpload",
  "ignoreNextRange",
  "compress",
  "answer",
  "refuse",
  "stall",
  "redirect",
  "fill",
  "requests",
  "clear",
];

/** A proxy on a loopback port that forwards everything unchanged, until a test makes it fail. `await using` stops it. */
export interface FaultProxy extends AsyncDisposable {
  readonly origin: string;
  readonly faults: NetworkFaults;
  /** The next request that `accept` holds for is reset before anything of it reaches the server. */
  resetNext(accept?: (request: ProxiedRequest) => boolean): void;
  /** The next request that `accept` holds for reaches the server, and its answer is lost. */
  loseNext(accept: (request: ProxiedRequest) => boolean): void;
  /** The next request that `accept` holds for is answered with this instead of being passed on. */
  answerNext(
    accept: (request: ProxiedRequest) => boolean,
    status: number,
    headers?: Readonly<Record<string, string>>,
    body?: string,
  ): void;
  /**
   * Runs `work` after the server's response to the next request that `accept` matches, before the response is passed
   * on.
   */
  after(accept: (request: ProxiedRequest) => boolean, work: () => Promise<void>): void;
  /** Waits for silence only briefly while `stall` holds, and as long as ever at other times. */
  impatient(dispatcher: Dispatcher): Dispatcher;
  /** Every request so far, as `METHOD path`. */
  readonly log: readonly string[];
}

type Accept = (request: ProxiedRequest) => boolean;

/** Everything that is to go wrong. */
interface Plan {
  lose: Accept | undefined;
  reset: Accept | undefined;
  after: { readonly accept: Accept; readonly work: () => Promise<void> } | undefined;
  answers: { times: number; readonly accept: Accept; readonly answer: Answer } | undefined;
  cutBodyAfter: number | undefined;
  cutUploadAfter: number | undefined;
  ignoresRange: boolean;
  compresses: boolean;
  mode: "passing" | "refusing" | "stalling";
  fullAfter: number | undefined;
}

const LOOKING = new Set(["GET", "HEAD", "OPTIONS", "PROPFIND", "REPORT", "SEARCH"]);
/** How long an impatient client bears silence: nothing comes then, however slow the machine is. */
const SILENCE_MS = 100;
const FULL: Answer = { status: 507, headers: {}, body: "" };

/**
 * Starts a proxy before a server. Forwards the `Host` header unchanged, so that signatures and destinations stay valid.
 */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const isChange = options.isChange ?? (({ method }) => !LOOKING.has(method));
  const isDownload = options.isDownload ?? (({ method }) => method === "GET");
  const isUpload = options.isUpload ?? (({ method }) => method === "PUT");
  const full = options.full ?? FULL;
  const target = new URL(options.target);
  const log: string[] = [];
  const held = new Set<ServerResponse>();
  let plan = calmPlan();

  const server = createServer({ requestTimeout: 0, headersTimeout: 0 }, (incoming, response) => {
    incoming.on("error", () => undefined);
    response.on("error", () => undefined);
    const what = {
      method: incoming.method ?? "",
      path: incoming.url ?? "",
      headers: incoming.headers,
    };
    log.push(`${what.method} ${what.path}`);
    serve(what, incoming, response).catch(() => incoming.destroy());
  });

  async function serve(what: ProxiedRequest, incoming: IncomingMessage, response: ServerResponse) {
    if (plan.mode === "refusing") return incoming.socket.resetAndDestroy();
    if (plan.mode === "stalling") return void held.add(response);
    if (plan.reset?.(what) === true) {
      plan.reset = undefined;
      return incoming.socket.resetAndDestroy();
    }
    if (plan.answers !== undefined && plan.answers.accept(what)) {
      const { answer } = plan.answers;
      if (--plan.answers.times <= 0) plan.answers = undefined;
      return say(incoming, response, answer);
    }
    if (plan.fullAfter === 0 && isUpload(what)) return say(incoming, response, full);
    await pass(what, incoming, response);
  }

  async function pass(what: ProxiedRequest, incoming: IncomingMessage, response: ServerResponse) {
    const headers: Record<string, string | string[] | undefined> = { ...what.headers };
    const range = what.headers.range;
    const compresses = plan.compresses;
    if (range !== undefined && (plan.ignoresRange || compresses)) {
      delete headers["range"];
      plan.ignoresRange = false;
    }
    const upstream = httpRequest({
      host: target.hostname,
      port: target.port,
      method: what.method,
      path: what.path,
      headers,
      setHost: false,
      agent: false,
    });
    const isGone = new AbortController();
    response.on("close", () => {
      if (!response.writableFinished) isGone.abort();
    });
    isGone.signal.addEventListener("abort", () => upstream.destroy());
    const answering = once(upstream, "response") as Promise<[IncomingMessage]>;
    // The server may answer and close before it has read everything: only the missing answer counts.
    upstream.on("error", () => undefined);
    // It is waited for further down, if at all.
    answering.catch(() => undefined);
    const sending = send(what, incoming, upstream, response);
    sending.catch(() => undefined);
    // A server may have its answer, and read no further, before it has all of the body.
    const isEarly = await Promise.race([
      sending.then((isSent) => (isSent ? false : undefined)),
      answering.then(
        () => true,
        () => sending.then((isSent) => (isSent ? false : undefined)),
      ),
    ]);
    if (isEarly === undefined) return;
    const [answer] = await answering;
    answer.on("error", () => response.destroy());

    if (plan.lose?.(what) === true) {
      plan.lose = undefined;
      await buffer(answer);
      incoming.socket.destroy();
      return;
    }
    if (plan.after?.accept(what) === true) {
      const { work } = plan.after;
      plan.after = undefined;
      await work();
    }
    if (compresses && what.method !== "HEAD") {
      await answerCompressed(answer, response, isDownload(what) ? range : undefined);
      return;
    }
    const cutAfter = isDownload(what) ? plan.cutBodyAfter : undefined;
    if (cutAfter !== undefined) plan.cutBodyAfter = undefined;
    response.writeHead(answer.statusCode ?? 502, {
      ...endToEnd(answer),
      ...(isEarly && !incoming.complete ? { connection: "close" } : {}),
    });
    let sent = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      const part = cutAfter === undefined ? chunk : chunk.subarray(0, cutAfter - sent);
      sent += part.length;
      if (!response.write(part) && !isGone.signal.aborted)
        await once(response, "drain", { signal: isGone.signal });
      if (cutAfter !== undefined && sent >= cutAfter) {
        incoming.socket.destroySoon();
        answer.destroy();
        return;
      }
    }
    response.end();
  }

  /** Passes a body on. False when it was cut on the way, or answered for the server. */
  async function send(
    what: ProxiedRequest,
    incoming: IncomingMessage,
    upstream: ReturnType<typeof httpRequest>,
    response: ServerResponse,
  ): Promise<boolean> {
    const isBytes = isUpload(what);
    const cutAfter = isBytes ? plan.cutUploadAfter : undefined;
    if (cutAfter !== undefined) plan.cutUploadAfter = undefined;
    let taken = 0;
    const body = incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    for await (const chunk of body) {
      taken += chunk.length;
      if (cutAfter !== undefined && taken >= cutAfter) {
        upstream.destroy();
        incoming.socket.destroy();
        return false;
      }
      if (isBytes && plan.fullAfter !== undefined) {
        plan.fullAfter -= chunk.length;
        if (plan.fullAfter <= 0) {
          plan.fullAfter = 0;
          upstream.destroy();
          break;
        }
      }
      if (upstream.destroyed) break;
      if (!upstream.write(chunk)) await drained(upstream);
    }
    if (isBytes && plan.fullAfter === 0) {
      say(incoming, response, full);
      return false;
    }
    upstream.end();
    return true;
  }

  function calm(): void {
    plan = calmPlan();
    for (const response of held) response.destroy();
    held.clear();
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    resetNext(accept = () => true) {
      plan.reset = accept;
    },
    loseNext(accept) {
      plan.lose = accept;
    },
    answerNext(accept, status, headers = {}, body = "") {
      plan.answers = { times: 1, accept, answer: { status, headers, body } };
    },
    after(accept, work) {
      plan.after = { accept, work };
    },
    faults: {
      loseNextAnswer() {
        plan.lose = isChange;
      },
      cutNextBody(afterBytes) {
        plan.cutBodyAfter = afterBytes;
      },
      cutNextUpload(afterBytes) {
        plan.cutUploadAfter = afterBytes;
      },
      ignoreNextRange() {
        plan.ignoresRange = true;
      },
      compress() {
        plan.compresses = true;
      },
      answer(times, status, headers, body) {
        plan.answers = { times, accept: () => true, answer: { status, headers, body } };
      },
      refuse() {
        plan.mode = "refusing";
      },
      stall() {
        plan.mode = "stalling";
      },
      redirect(address) {
        const answer = { status: 302, headers: { Location: address }, body: "" };
        plan.answers = { times: 1, accept: () => true, answer };
      },
      fill(afterBytes) {
        plan.fullAfter = afterBytes;
      },
      requests: () => log.length,
      clear: calm,
    },
    impatient: (dispatcher) =>
      dispatcher.compose((dispatch) => (request, handler) => {
        const brief = { headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS };
        return dispatch(plan.mode === "stalling" ? { ...request, ...brief } : request, handler);
      }),
    async [Symbol.asyncDispose]() {
      calm();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function calmPlan(): Plan {
  return {
    lose: undefined,
    reset: undefined,
    after: undefined,
    answers: undefined,
    cutBodyAfter: undefined,
    cutUploadAfter: undefined,
    ignoresRange: false,
    compresses: false,
    mode: "passing",
    fullAfter: undefined,
  };
}

/** Answers for the server; the rest of the request is read and dropped. */
function say(incoming: IncomingMessage, response: ServerResponse, answer: Answer): void {
  incoming.resume();
  const length = String(Buffer.byteLength(answer.body));
  response.writeHead(answer.status, { ...answer.headers, "Content-Length": length });
  response.end(answer.body);
}

/** As Apache's mod_deflate does: a range is cut out of the compressed bytes, and tags get a suffix. */
async function answerCompressed(
  answer: IncomingMessage,
  response: ServerResponse,
  range: string | undefined,
): Promise<void> {
  const plain = await buffer(answer);
  const status = answer.statusCode ?? 502;
  const headers: Record<string, string | string[]> = endToEnd(answer);
  delete headers["content-length"];
  if (plain.length === 0 || headers["content-encoding"] !== undefined) {
    response.writeHead(status, headers).end(plain);
    return;
  }
  headers["content-encoding"] = "gzip";
  const { etag } = headers;
  if (typeof etag === "string") headers["etag"] = etag.replace(/"$/, '-gzip"');
  const bytes = gzipSync(plain);
  const wanted = /^bytes=(\d+)-(\d*)$/.exec(range ?? "");
  const start = Number(wanted?.[1] ?? 0);
  if (wanted === null || status !== 200 || start >= bytes.length) {
    response.writeHead(status, { ...headers, "content-length": String(bytes.length) }).end(bytes);
    return;
  }
  const end = Math.min(wanted[2] === "" ? Infinity : Number(wanted[2]), bytes.length - 1);
  const part = bytes.subarray(start, end + 1);
  response
    .writeHead(206, {
      ...headers,
      "content-range": `bytes ${start}-${end}/${bytes.length}`,
      "content-length": String(part.length),
    })
    .end(part);
}

/** Waits until more can be written, or nothing ever will. */
async function drained(upstream: ReturnType<typeof httpRequest>): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  try {
    await Promise.race([once(upstream, "drain", { signal }), once(upstream, "close", { signal })]);
  } finally {
    waiting.abort();
  }
}

/** The headers that are not about one connection. */
function endToEnd({ headers }: IncomingMessage): Record<string, string | string[]> {
  const hop = new Set(["connection", "keep-alive", "transfer-encoding", "trailer", "upgrade"]);
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || hop.has(name) ? [] : [[name, value]],
    ),
  );
}
