import type { Readable } from "node:stream";
import { AppError } from "../../errors.ts";
import { TEXT_BYTES_MAX } from "./limits.ts";

/** Whether a body of this type is read as form fields, of which a text is none (forge behaviour, 18.1). */
export function isForm(contentType: string | undefined): boolean {
  return /form-urlencoded|multipart\/form-data/i.test(contentType ?? "");
}

/** A request's body as text. Refuses with `unprocessable` what is no UTF-8 or larger than what is rendered. */
export async function readText(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.byteLength;
    if (length > TEXT_BYTES_MAX) throw new AppError("unprocessable", "the text is too large");
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw new AppError("unprocessable", "the text is not UTF-8", { cause });
  }
}
