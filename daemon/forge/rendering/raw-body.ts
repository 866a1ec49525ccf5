import type { Readable } from "node:stream";
import { AppError } from "../../errors.ts";
import { TEXT_BYTES_MAX } from "./limits.ts";

/** Whether a body of this type is read as form fields, of which a text is none (forge behaviour, 18.1). */
export function isForm(contentType: string | undefined): boolean {
  return /form-urlencoded|multipart\/form-data/i.test(contentType ?? "");
}

/** So much of a body that is too large is read and forgotten, so that its sender gets to hear why it is refused. */
const FORGOTTEN_BYTES_MAX = 8 * TEXT_BYTES_MAX;

/** A request's body as text. Refuses with `unprocessable` what is no UTF-8 or larger than what is rendered. */
export async function readText(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  // Left as it is when it is too large: a destroyed request has no connection that the refusal could go out on.
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.byteLength;
    if (length > FORGOTTEN_BYTES_MAX) break;
    if (length <= TEXT_BYTES_MAX) chunks.push(chunk);
  }
  if (length > TEXT_BYTES_MAX) throw new AppError("unprocessable", "the text is too large");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw new AppError("unprocessable", "the text is not UTF-8", { cause });
  }
}
