import { AppError } from "../../errors.ts";
import { TEXT_BYTES_MAX } from "./limits.ts";

/**
 * Returns the text of a raw body: empty for a form, whose fields name no text (forge behaviour, 18.1). Refuses with
 * `unprocessable` what is not UTF-8 or larger than what is rendered.
 */
export function toText(body: Buffer, contentType: string | undefined): string {
  if (/form-urlencoded|multipart\/form-data/i.test(contentType ?? "")) return "";
  if (body.byteLength > TEXT_BYTES_MAX)
    throw new AppError("unprocessable", "the text is too large");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch (cause) {
    throw new AppError("unprocessable", "the text is not UTF-8", { cause });
  }
}
