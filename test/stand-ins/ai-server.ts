import type { IncomingMessage, ServerResponse } from "node:http";
import { setInterval as every } from "node:timers";
import { gzipSync } from "node:zlib";
import { readBody, sendJson } from "./answers.ts";
import { serve, type Served } from "./serve.ts";

// A stand-in for the HTTP APIs of language models: OpenAI's chat completions, Anthropic's messages, Ollama's chat, after their
// public descriptions. Its "model" chooses the topic whose name the document has, and obeys "answer topic N".

/** The reaction of the server to a request. */
export type AiBehaviour =
  | "answers"
  | "hangs"
  | "unavailable"
  | "huge"
  | "not_json"
  | "no_such_option"
  | "wrong_confidence"
  | "no_choice"
  | "limited"
  | "closes"
  | "trickles"
  | "redirects"
  | "gzip_bomb"
  | "event_stream"
  | "nested"
  | "mixed_dimensions"
  | "not_a_number"
  | "one_index"
  | "too_few_vectors"
  | "zero_vectors";

/** One question as the server got it. */
export interface AiQuestion {
  readonly path: string;
  readonly system: string;
  readonly material: {
    readonly topics: readonly { number: number; name: string; description: string }[];
    readonly document: string;
  };
}

export interface AiServer extends Served {
  /** Set by tests. */
  behaviour: AiBehaviour;
  readonly questions: AiQuestion[];
  /** Method and path of every request. */
  readonly requests: string[];
  /** The texts that were to be embedded. */
  readonly embedded: string[];
  /** Dimension of the embeddings; set by tests. */
  dimensions: number;
}

export const AI_KEY = "sk-stand-in-0123456789";
export const AI_MODEL = "stand-in-1";
export const AI_EMBEDDING_MODEL = "stand-in-embed";

/** Starts the server. OpenAI's base is `<origin>/v1`, the others' `<origin>`. */
export async function startAiServer(): Promise<AiServer> {
  const state = {
    behaviour: "answers" as AiBehaviour,
    questions: [] as AiQuestion[],
    dimensions: 8,
  };
  const embedded: string[] = [];
  const requests: string[] = [];
  const served = await serve(async (request, response, url) => {
    const route = `${request.method} ${url.pathname}`;
    requests.push(route);
    if (!isAllowed(request, url.pathname))
      // Providers quote keys and requests in their errors; nothing of it may get further.
      return sendJson(response, 401, { error: { message: `bad key ${AI_KEY}` } });
    switch (route) {
      case "GET /v1/models":
        return sendJson(response, 200, { data: [{ id: AI_MODEL }, { id: "stand-in-0" }] });
      case "GET /api/tags":
        return sendJson(response, 200, { models: [{ name: `${AI_MODEL}:latest` }] });
      case "POST /v1/chat/completions":
      case "POST /v1/messages":
      case "POST /api/chat":
        return answer(request, response, url.pathname);
      case "POST /v1/embeddings":
      case "POST /api/embed":
        return embed(request, response, url.pathname);
      default:
        return sendJson(response, 404, { error: { message: "no such route" } });
    }
  });
  return {
    ...served,
    questions: state.questions,
    requests,
    embedded,
    get dimensions() {
      return state.dimensions;
    },
    set dimensions(value) {
      state.dimensions = value;
    },
    get behaviour() {
      return state.behaviour;
    },
    set behaviour(value) {
      state.behaviour = value;
    },
  };

  async function embed(request: IncomingMessage, response: ServerResponse, path: string) {
    const body = JSON.parse((await readBody(request)).toString()) as {
      model: string;
      input: string[];
    };
    embedded.push(...body.input);
    if (body.model !== AI_EMBEDDING_MODEL)
      return sendJson(response, 404, { error: "model not found" });
    const { behaviour, dimensions } = state;
    if (misbehave(behaviour, response)) return;
    if (behaviour === "not_json") return void response.end("vectors");
    if (behaviour === "not_a_number") return void response.end(`{"embeddings":[[NaN,1e999]]}`);
    const vectors = body.input.map((text, index) => {
      if (behaviour === "zero_vectors") return Array.from({ length: dimensions }, () => 0);
      return toVector(text, behaviour === "mixed_dimensions" ? dimensions + index : dimensions);
    });
    if (behaviour === "too_few_vectors") vectors.pop();
    sendJson(
      response,
      200,
      path === "/api/embed"
        ? { model: body.model, embeddings: vectors }
        : {
            // The order of the list is not promised; the index says which text a vector belongs to.
            data: vectors
              .map((embedding, index) => ({
                index: behaviour === "one_index" ? 0 : index,
                embedding,
              }))
              .toReversed(),
          },
    );
  }

  async function answer(request: IncomingMessage, response: ServerResponse, path: string) {
    const body = JSON.parse((await readBody(request)).toString());
    const messages = body.messages as { role: string; content: string }[];
    const material = JSON.parse(messages.at(-1)?.content ?? "") as AiQuestion["material"];
    const system = path === "/v1/messages" ? body.system : messages[0]?.content;
    state.questions.push({ path, system, material });
    if (body.model !== AI_MODEL) return sendJson(response, 404, { error: "model not found" });
    if (misbehave(state.behaviour, response)) return;
    switch (state.behaviour) {
      case "not_json":
        return send(response, path, "The topic is Travel.");
      case "no_such_option":
        return send(response, path, { option: material.topics.length + 1, confidence: 1 });
      case "wrong_confidence":
        return send(response, path, { option: 1, confidence: 7 });
      case "no_choice":
        return send(response, path, { option: 0, confidence: 0.9 });
      case "answers":
        return send(response, path, choose(material));
      default:
        throw new Error(`${state.behaviour} is a behaviour of embeddings`);
    }
  }
}

/** 16 MiB of spaces. */
const GZIP_BOMB = gzipSync(Buffer.alloc(16 * 1024 * 1024, " "));

/** Seconds of the `Retry-After` header of a limit. */
export const AI_RETRY_AFTER_S = 600;

/** Answers as a provider does that fails, whatever the question; false when this behaviour is not one of these. */
function misbehave(behaviour: AiBehaviour, response: ServerResponse): boolean {
  const begin = (headers: Readonly<Record<string, string>> = {}) =>
    response.writeHead(200, { "content-type": "application/json", ...headers });
  switch (behaviour) {
    case "hangs":
      return true;
    case "unavailable":
      sendJson(response, 500, { error: { message: `internal ${AI_KEY}` } });
      return true;
    case "limited": {
      const headers = { "retry-after": String(AI_RETRY_AFTER_S) };
      sendJson(response, 429, { error: { message: "slow down" } }, headers);
      return true;
    }
    case "huge":
      begin().end(`{"padding":"${"x".repeat(10 * 1024 * 1024)}"}`);
      return true;
    case "closes":
      begin({ "content-length": "1000" }).write('{"choices":[');
      setTimeout(() => response.destroy(), 20);
      return true;
    case "trickles": {
      begin().write("{");
      const timer = every(() => response.write(" "), 20);
      response.once("close", () => clearInterval(timer));
      return true;
    }
    case "redirects":
      response.writeHead(307, { location: "/elsewhere" }).end();
      return true;
    case "gzip_bomb":
      begin({ "content-encoding": "gzip" }).end(GZIP_BOMB);
      return true;
    case "event_stream":
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end('data: {"choices":[{"delta":{"content":"1"}}]}\n\ndata: [DONE]\n\n');
      return true;
    case "nested":
      begin().end("[".repeat(1_000_000));
      return true;
    default:
      return false;
  }
}

function isAllowed({ headers }: IncomingMessage, path: string): boolean {
  if (path.startsWith("/api/")) return true;
  return headers["anthropic-version"] === undefined
    ? headers.authorization === `Bearer ${AI_KEY}`
    : headers["x-api-key"] === AI_KEY;
}

/** The model: obeys the document, as models do, else searches it for names of topics. */
function choose({ topics, document }: AiQuestion["material"]) {
  const ordered = /answer topic (\d+)/i.exec(document)?.[1];
  if (ordered !== undefined) return { option: Number(ordered), confidence: 1 };
  const found = topics.find(({ name }) => document.toLowerCase().includes(name.toLowerCase()));
  return { option: found?.number ?? 0, confidence: 0.87 };
}

/** Words of one meaning: each group is a direction. */
const MEANINGS = [
  ["car", "automobile", "vehicle", "garage"],
  ["house", "flat", "landlord", "rent"],
  ["hotel", "flight", "journey", "travel"],
];

/** The embedding model: counts words of each meaning; every text has a little of everything. */
function toVector(text: string, dimensions: number): number[] {
  const words = text.toLowerCase().split(/[^a-z]+/);
  return Array.from({ length: dimensions }, (_, at) => {
    const meaning = MEANINGS[at];
    return 0.1 + words.filter((word) => meaning?.includes(word)).length;
  });
}

function send(response: ServerResponse, path: string, choice: unknown): void {
  const content = typeof choice === "string" ? choice : JSON.stringify(choice);
  const bodies: Readonly<Record<string, unknown>> = {
    "/v1/chat/completions": { choices: [{ message: { role: "assistant", content } }] },
    "/v1/messages": {
      content: [
        { type: "text", text: "Let me see." },
        ...(typeof choice === "string"
          ? []
          : [{ type: "tool_use", id: "t1", name: "choose", input: choice }]),
      ],
    },
    "/api/chat": { message: { role: "assistant", content }, done: true },
  };
  sendJson(response, 200, bodies[path]);
}
