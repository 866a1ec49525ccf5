import { encodingOf, openPlain } from "./content-encoding.ts";
import { type JsonObject, parseJsonObject } from "./json.ts";
import { StreamAborted, TOO_LONG } from "./outcomes.ts";
import { inTime, type Offline, type ProviderAnswer } from "./transport.ts";

/**
 * Parses the body of a response as a JSON object. Any other body (a maintenance page, a truncated or oversized body)
 * is `offline`, never an empty response.
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

/** Reads and decodes the body of a response as text, by default at most 1 MiB. */
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
    if (error instanceof StreamAborted && error.failure.kind === "offline") return error.failure;
    return { kind: "offline", sent: true, note: "undecodable" };
  }
  return { kind: "ok", text: Buffer.concat(chunks).toString("utf8") };
}
