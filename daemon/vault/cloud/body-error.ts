import { AppError } from "../../errors.ts";

/** A refusal in the shape of a failed validation: for rules that only a service knows. */
export function toBodyError(path: readonly string[], message: string, type: string): AppError {
  return new AppError("unprocessable", message, {
    body: { detail: [{ loc: ["body", ...path], msg: message, type }] },
  });
}
