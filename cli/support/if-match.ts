import { CliError, usageError } from "../errors.ts";
import { toShellWord } from "../output/shell-word.ts";

/** The flag of a change that has a precondition. */
export const ifMatchFlag = (help: string) =>
  ({ "--if-match <etag>": { help, parse: toEtag } }) as const;

/** An empty shell variable must not turn into a change without a precondition. @throws CliError `usage` */
function toEtag(value: string): string {
  if (value.trim() === "")
    throw usageError(
      "--if-match takes an etag, not an empty text",
      '"croft vault item view ITEM --jq .etag" prints it',
    );
  return value;
}

/** Whether two etags are one, with or without quotes. */
export function isSameEtag(one: string, other: string): boolean {
  return unquote(one) === unquote(other);
}

/** The value of the header `If-Match`. */
export function toIfMatchHeader(etag: string): string {
  return `"${unquote(etag)}"`;
}

function unquote(etag: string): string {
  return etag.trim().replace(/^(?:W\/)?"|"$/g, "");
}

/** Returns the error of a precondition that does not hold. */
export function preconditionFailed(word: string, etag: string, cause?: CliError): CliError {
  return new CliError("stale", `${word} is no longer the version ${etag}: nothing was changed`, {
    service: "vault",
    ...cause?.details,
    reason: "precondition_failed",
    hint: `"croft vault item view ${toShellWord(word)}" shows the current version and its etag`,
  });
}

/** Returns a handler for a failed change that names the failed precondition. Other errors are rethrown unchanged. */
export function explainPrecondition(word: string, etag: string | undefined) {
  return (error: unknown): never => {
    if (etag !== undefined && error instanceof CliError && error.code === "stale")
      throw preconditionFailed(word, etag, error);
    throw error;
  };
}
