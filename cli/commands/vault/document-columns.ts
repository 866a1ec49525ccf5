import type { z } from "zod";
import type { document as documentSchema } from "../../../daemon/contract/vault/documents.ts";
import { type Column, size, time } from "../../output/cells.ts";

/** A document as the API sends it. */
export type WireDocument = z.output<typeof documentSchema>;

/** Columns of lists of documents. */
export const documentColumns: readonly Column<Omit<WireDocument, "extracted_text">>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ filename }) => filename },
  { header: "size", cell: ({ size_bytes: bytes }) => size(bytes) },
  { header: "topics", cell: ({ topics }) => topics },
  {
    header: "status",
    cell: ({ status, status_reason: reason }) =>
      reason === null ? status : `${status}: ${reason}`,
  },
  { header: "created", cell: ({ created_at: created }) => time(created) },
];

/** Lines of one document. */
export const documentLines: readonly Column<WireDocument>[] = [
  ...documentColumns,
  { header: "type", cell: ({ content_type: type }) => type },
  { header: "storage", cell: ({ storage_backend: storage }) => storage },
  { header: "sha256", cell: ({ sha256 }) => sha256 },
  { header: "classified as", cell: ({ classification }) => classification?.topic },
  { header: "because of", cell: ({ classification }) => classification?.words },
  {
    header: "missing text",
    cell: ({ status_reason: reason, extracted_text: text }) => describeMissingText(reason, text),
  },
  { header: "text", cell: ({ extracted_text: text }) => text },
];

/** The explanation of each reason for a missing text, as in docs/documents.md. */
const reasons: Readonly<Record<string, string>> = {
  unsupported_format: "croft does not read this format",
  legacy_format:
    "croft does not read Office files of before 2007; save it as .docx, .xlsx, .pptx or PDF",
  no_text: "the file has no text",
  ocr_off: "pictures of text are not read, because text recognition is off (CROFT_OCR)",
  too_large: "the file is over a limit: 100 MiB, 1,000,000 characters or 20 scanned pages",
  encrypted: "the file is protected with a password",
  damaged: "the file is cut off or broken",
  too_complex: "the file has too many or too deep parts",
  timed_out: "the time limit for one file was reached",
  provider_error: "the connected storage did not return the bytes",
};

/**
 * Explains how much text of a document or item is missing and why; undefined without a reason. `text` is undefined
 * for recipients of a share, who see no text.
 */
export function describeMissingText(
  reason: string | null,
  text: string | null | undefined,
): string | undefined {
  if (reason === null) return undefined;
  const reasonText = reasons[reason] ?? reason;
  if (text === undefined) return reasonText;
  return text === null ? `all: ${reasonText}` : `a part: ${reasonText}`;
}
