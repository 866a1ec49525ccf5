/** Why a file has no extracted text: the closed list that documents and items show. */
export type UnreadableReason =
  | "unsupported_format"
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
      /** Pages without text were left out. */
      readonly isPartial: boolean;
    }
  | { readonly kind: "unreadable"; readonly reason: UnreadableReason };

/** Ends an extraction with a reason of the closed list. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
  readonly reason: UnreadableReason;

  constructor(reason: UnreadableReason, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}
