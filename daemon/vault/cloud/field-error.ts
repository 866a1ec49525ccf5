import { AppError } from "../../errors.ts";

/**
 * A refusal in the shape of a failed validation, for rules that the contract cannot know. `loc` begins with the part of the
 * request: `body` or `query`.
 */
export function toFieldError(
  loc: readonly (string | number)[],
  message: string,
  type: string,
): AppError {
  return new AppError("unprocessable", message, {
    failures: [{ loc, msg: message, type }],
  });
}
