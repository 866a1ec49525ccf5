import { encodingOf, openPlain } from "./content-encoding.ts";
import { BrokenOff, TOO_LONG } from "./outcomes.ts";
import { inTime, type Offline, type ProviderAnswer } from "./transport.ts";

/** A JSON object of which nothing is believed yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * The body of an answer as a JSON object. Anything else (a maintenance page, a cut or oversized body) is `offline`:
 * it is never taken for an empty answer.
 */
export async function readJsonObject(
  answer: ProviderAnswer,
  bytesMax?: number,
): Promise<{ readonly kind: "ok"; readonly value: JsonObject } | Offline> {
  const body = await readText(answer, bytesMax);
  if (body.kind !== "ok") return body;
  const value = parseJsonObject(body.text);
  return value === undefined
    ? { kind: "offline", sent: true, note: "no_json" }
    : { kind: "ok", value };
}

/** The body of an answer as text, 1 MiB at most unless told, also of one that is encoded although nobody asked for it. */
export async function readText(
  answer: ProviderAnswer,
  bytesMax = 1024 * 1024,
): Promise<{ readonly kind: "ok"; readonly text: string } | Offline> {
  if (encodingOf(answer) === undefined) return answer.text(bytesMax);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of inTime(openPlain(answer, undefined)) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > bytesMax) return { kind: "offline", sent: true, note: TOO_LONG };
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof BrokenOff && error.failure.kind === "offline") return error.failure;
    return { kind: "offline", sent: true, note: "undecodable" };
  }
  return { kind: "ok", text: Buffer.concat(chunks).toString("utf8") };
}

/** The object that a text holds, or undefined when it holds none. */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}

/** A text that is not empty; what is no Unicode in it is replaced, since it could stand in no address. */
export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.toWellFormed() : undefined;
}

/** A whole number from 0 up. */
export function asCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Epoch milliseconds of an ISO 8601 time. */
export function asTime(value: unknown): number | undefined {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
