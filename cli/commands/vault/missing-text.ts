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
  timed_out: "the time for one file was used up",
  provider_error: "the connected storage did not give the bytes",
};

/**
 * Says in words how much text of a document or item is missing and why; undefined without a reason. A recipient of a share
 * sees no text at all: there `text` is undefined.
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
