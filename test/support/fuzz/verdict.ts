import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { z } from "zod";
import {
  schemaOf,
  type AnyEndpoint,
  type Endpoint,
  type Reply,
} from "../../../daemon/contract/endpoint.ts";
import type { FuzzRequest } from "./requests.ts";

export interface FuzzAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  /** Whether the path may lead to another operation, or to none. */
  readonly isStrange: boolean;
  /** Processor time of the daemon and the test meanwhile. */
  readonly cpuMs: number;
}

/** Processor time of one request, in milliseconds. */
export const CPU_MS_MAX = 2_000;

/**
 * Refusals that the transport gives to any request, so that operations do not declare them: an address or a head that
 * cannot be read, another origin, a body that is late, too large or of another type, too much work, a full disk.
 */
const refusedAnywhere = new Set([400, 408, 413, 415, 417, 421, 429, 431, 503, 507]);

/** Optimized code takes four times as long to make, more than most schemas ever save by it. */
const ajv = new Ajv2020({ strict: false, allErrors: false, code: { optimize: false } });
addFormats.default(ajv);
const compiled = new WeakMap<z.ZodType, ReturnType<typeof ajv.compile>>();

/** Returns what is wrong with an answer, in one line; undefined when it is as the contract says. */
export function judge(request: FuzzRequest, answer: FuzzAnswer): string | undefined {
  const { declared } = request;
  const { status, isStrange } = answer;
  const reply = (declared as Endpoint).replies[status];
  if (answer.cpuMs > CPU_MS_MAX) return `took ${Math.round(answer.cpuMs)} ms of processor time`;
  if (status >= 500 && ![502, 503, 507].includes(status) && reply === undefined)
    return `answered ${status}`;
  if (status === 500) return "answered 500";
  if (isStrange && status < 500) return undefined;
  if (reply === undefined) {
    if (isConditional(declared, status)) return undefined;
    if (!refusedAnywhere.has(status) && !isRefusedByHead(request, status))
      return `answered ${status}, which it does not declare`;
    return judgeRefusal(answer);
  }
  if (status >= 400 && isJson(answer)) return judgeJson(declared, answer, reply);
  return judgeBody(declared, answer, reply);
}

/** Another site may change nothing, and only an administrator may act for somebody else who exists. */
function isRefusedByHead({ headers, query }: FuzzRequest, status: number): boolean {
  const isForSomebody = headers["Sudo"] !== undefined || query.includes("sudo=");
  return (
    (status === 403 && headers["Origin"] !== undefined) ||
    ([403, 404].includes(status) && isForSomebody)
  );
}

/** Bytes are sent in ranges, and not again to a client that has them; renamed repositories redirect. */
function isConditional({ replies, path }: AnyEndpoint, status: number): boolean {
  const success = (replies as Endpoint["replies"])[200];
  const isBytes = success !== undefined && "kind" in success && /bytes/.test(String(success.kind));
  if (status === 206 || status === 416 || status === 412) return isBytes;
  if (status === 304) return success !== undefined;
  return status === 307 && /:(?:owner|username|org)\b/.test(path);
}

function judgeBody(declared: Endpoint, answer: FuzzAnswer, reply: Reply): string | undefined {
  if (schemaOf(reply) !== undefined && isJson(answer)) return judgeJson(declared, answer, reply);
  if (!("kind" in reply)) return `answered ${answer.status} with ${typeOf(answer)} instead of JSON`;
  if (reply.kind === "empty" && answer.text !== "") return `answered ${answer.status} with a body`;
  if ("contentType" in reply && reply.contentType !== undefined) {
    const expected = reply.contentType.split(";")[0];
    if (answer.text !== "" && typeOf(answer) !== expected && !isJson(answer))
      return `answered ${answer.status} with ${typeOf(answer)} instead of ${expected}`;
  }
  return undefined;
}

function judgeJson(declared: Endpoint, answer: FuzzAnswer, reply: Reply): string | undefined {
  let json: unknown;
  try {
    json = JSON.parse(answer.text);
  } catch {
    return `answered ${answer.status} with text that is not JSON`;
  }
  const schema = "kind" in reply && reply.kind === "json_or_text" ? reply.schema : schemaOf(reply);
  if (schema === undefined) return undefined;
  const validate = validatorOf(schema);
  if (validate(json)) return undefined;
  const [error] = validate.errors ?? [];
  return `answered ${answer.status} against its schema: ${(error?.instancePath ?? "").replace(/\d+/g, "0")} ${error?.message}`;
}

function judgeRefusal(answer: FuzzAnswer): string | undefined {
  if (answer.text === "" || !isJson(answer)) return undefined;
  const json: unknown = JSON.parse(answer.text);
  const isObject = typeof json === "object" && json !== null;
  if (
    isObject &&
    ("message" in json || "detail" in json || "errors" in json || "error" in json || "msg" in json)
  )
    return undefined;
  return `answered ${answer.status} with a body that is no refusal`;
}

function validatorOf(schema: z.ZodType) {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const validate = ajv.compile(z.toJSONSchema(schema, { io: "output", unrepresentable: "any" }));
  compiled.set(schema, validate);
  return validate;
}

function typeOf({ headers }: FuzzAnswer): string {
  return String(headers["content-type"] ?? "nothing").split(";")[0] ?? "";
}

function isJson(answer: FuzzAnswer): boolean {
  return /\bjson$/.test(typeOf(answer));
}
