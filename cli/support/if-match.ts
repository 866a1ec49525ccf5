import { type Command, Option } from "commander";
import { CliError, usageError } from "../errors.ts";
import { toShellWord } from "../output/shell-word.ts";

/** The flags of a change that has a precondition. */
export interface IfMatchFlags {
  readonly ifMatch?: string;
  /** The name of the flag in earlier versions. */
  readonly etag?: string;
}

/** Adds `--if-match`, and `--etag` as a hidden alias for scripts of earlier versions. */
export function addIfMatchFlag(command: Command, help: string): Command {
  return command
    .option("--if-match <etag>", help)
    .addOption(new Option("--etag <etag>", "the former name of --if-match").hideHelp());
}

/** Returns the etag of the precondition. @throws CliError `usage` when both flags were given, or an empty one */
export function readIfMatch({ ifMatch, etag }: IfMatchFlags): string | undefined {
  if (ifMatch !== undefined && etag !== undefined)
    throw usageError("--etag is the former name of --if-match: give one of them");
  const value = ifMatch ?? etag;
  // An empty shell variable must not turn into a change without a precondition.
  if (value?.trim() === "")
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
