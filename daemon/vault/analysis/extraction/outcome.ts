/** Why the text of a file, or a part of it, is missing: the closed list that documents and items show. */
export type UnreadableReason =
  | "unsupported_format"
  | "legacy_format"
  | "encrypted"
  | "damaged"
  | "too_complex"
  | "no_text"
  | "ocr_off"
  | "too_large"
  | "timed_out"
  | "provider_error";

export type Extraction =
  | {
      readonly kind: "text";
      readonly text: string;
      readonly contentType: string;
      /** Why a part of the text is missing; undefined for the whole text. */
      readonly missing: UnreadableReason | undefined;
    }
  | {
      readonly kind: "unreadable";
      readonly reason: UnreadableReason;
      /** The type that the bytes show; undefined when they show none, or were not read. */
      readonly contentType?: string | undefined;
    };

/** Ends an extraction with a reason of the closed list. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
  readonly reason: UnreadableReason;

  constructor(reason: UnreadableReason, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

/** Ends an extraction as `damaged` because the library that reads the format has failed. */
export function refuseDamaged(error: unknown): never {
  throw new Unreadable("damaged", error);
}

/** Processor time of one file: that of a small one, more for each mebibyte, and the maximum. */
const BUDGET_MS = 20_000;
const BUDGET_PER_MIB_MS = 5_000;
const BUDGET_MAX_MS = 60_000;

/** Returns the processor time in which the text of a file is read, without text recognition. */
export function toBudgetMs(sizeBytes: number): number {
  const mebibytes = sizeBytes / 1024 ** 2;
  return Math.round(Math.min(BUDGET_MAX_MS, BUDGET_MS + mebibytes * BUDGET_PER_MIB_MS));
}
