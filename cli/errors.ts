import { toJson } from "./output/sanitize.ts";
import { type CliErrorCode, errorCodes, type ExitCode } from "./exit-codes.ts";

/** A value that the server refused. */
export interface Problem {
  /** The name on the wire, in any spelling: `username`, `FullName`; empty for the request as a whole. */
  readonly field: string;
  /** The server's text: a sentence, or the name of a rule such as `Required`. */
  readonly text: string;
}

/** Details of an error in addition to its code and message. */
export interface CliErrorDetails {
  /** The remedy, usually as a command. */
  readonly hint?: string | undefined;
  readonly httpStatus?: number | undefined;
  readonly service?: "forge" | "vault" | undefined;
  /** The server's own words for a typed failure. */
  readonly kind?: string | undefined;
  readonly reason?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  /** The values that the server refused. */
  readonly problems?: readonly Problem[] | undefined;
  readonly cause?: unknown;
}

/** A failure with a code of the closed list; it decides the exit code. Never carries a secret. */
export class CliError extends Error {
  readonly code: CliErrorCode;
  readonly details: CliErrorDetails;

  constructor(code: CliErrorCode, message: string, details: CliErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "CliError";
    this.code = code;
    this.details = details;
  }
}

/** A write that `--dry-run` stopped just before it would have happened. `would` is printed as the result. */
export class DryRun extends Error {
  readonly would: Readonly<Record<string, unknown>>;

  constructor(would: Readonly<Record<string, unknown>>) {
    super("dry run");
    this.name = "DryRun";
    this.would = would;
  }
}

/** `--json=?` prints the names of the fields instead of running the command. */
export class FieldList extends Error {
  readonly fields: readonly string[];

  constructor(fields: readonly string[]) {
    super("list of fields");
    this.name = "FieldList";
    this.fields = fields;
  }
}

/** A wrong or missing flag or argument. */
export function usageError(message: string, hint?: string): CliError {
  return new CliError("usage", message, { hint });
}

/** The exit code of `error`. */
export function exitCodeOf(error: CliError): ExitCode {
  return errorCodes[error.code].exit;
}

/** The error as machine modes print it: one line of JSON, every key always there. */
export function toErrorLine(error: CliError): string {
  const { details } = error;
  return toJson({
    error: {
      code: error.code,
      exit_code: exitCodeOf(error),
      http_status: details.httpStatus ?? null,
      message: error.message,
      hint: details.hint ?? null,
      service: details.service ?? null,
      kind: details.kind ?? null,
      reason: details.reason ?? null,
      request_id: details.requestId ?? null,
      retry_after_s: details.retryAfterSeconds ?? null,
    },
  });
}

/** Converts any error to a `CliError`. An unknown one becomes `unexpected` and keeps its cause. */
export function toCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  const systemCode = (error as NodeJS.ErrnoException | undefined)?.code;
  const message = error instanceof Error ? error.message : String(error);
  if (systemCode === "EPIPE")
    return new CliError("closed_pipe", "the reader of the output closed the pipe");
  if (systemCode === "ENOSPC" || systemCode === "EDQUOT")
    return new CliError("storage_full", `no space left on the disk (${message})`, { cause: error });
  if (systemCode !== undefined && /^(?:UND_ERR_|ECONN|ETIMEDOUT)/.test(systemCode))
    return new CliError(
      "daemon_unreachable",
      `the connection to the daemon was lost (${message})`,
      {
        cause: error,
      },
    );
  if (systemCode !== undefined && fileErrors.has(systemCode))
    return new CliError("file_error", toFileWords(message), { cause: error });
  return new CliError("unexpected", message === "" ? "unexpected error" : message, {
    cause: error,
  });
}

/**
 * `ENOENT: no such file or directory, open '/x'` ends with the most important part. Of two paths, either may be the
 * cause.
 */
function toFileWords(message: string): string {
  const [, words, path, target] =
    /^E[A-Z0-9]+: ([^,]+), \w+(?: '(.+?)'(?: -> '(.+)')?)?$/s.exec(message) ?? [];
  if (words === undefined) return message;
  if (path === undefined) return words;
  return target === undefined ? `${path}: ${words}` : `${path} to ${target}: ${words}`;
}

const fileErrors: ReadonlySet<string> = new Set([
  "EACCES",
  "EBUSY",
  "EEXIST",
  "EFBIG",
  "EIO",
  "EISDIR",
  "ELOOP",
  "ENOENT",
  "ENOTDIR",
  "ENOTEMPTY",
  "EPERM",
  "EROFS",
  "EMFILE",
  "ENFILE",
  "ENAMETOOLONG",
  "ETXTBSY",
]);
