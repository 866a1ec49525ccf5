/** Every exit code with its meaning. `croft help exit-codes` and docs/exit-codes.md are made from it. */
export const exitCodes = {
  0: "done; an empty list too",
  1: "unexpected error, or a 5xx answer without a kind",
  2: "usage: flag, argument, missing input, configuration",
  3: "cancelled by the person",
  4: "not signed in, credentials refused, session revoked",
  5: "forbidden",
  6: "not found",
  7: "conflict: stale, name collision, invalid destination, already initialised, already running",
  8: "not finished yet (--check, --wait)",
  9: "rate limited",
  10: "daemon unreachable",
  11: "provider failed or offline",
  12: "invalid: the server refused the values",
  13: "the cloud connection must be reconnected",
  14: "partly done (batches)",
  15: "unsupported",
  16: "a challenge needs an answer and prompting is not possible",
  17: "storage: disk full, permission, quota",
  130: "interrupted",
  141: "the reader of the output closed the pipe",
  143: "terminated",
} as const;

export type ExitCode = keyof typeof exitCodes;

interface ErrorCodeEntry {
  readonly exit: ExitCode;
  readonly meaning: string;
}

const code = (exit: ExitCode, meaning: string): ErrorCodeEntry => ({ exit, meaning });

/**
 * The closed list of `error.code` in machine output, each with its exit code. The list may grow; an entry never
 * changes its meaning.
 */
export const errorCodes = {
  unexpected: code(1, "an unexpected error, most likely a bug in croft"),
  server_error: code(1, "the daemon answered 5xx without a more specific code"),
  unexpected_answer: code(1, "the server does not speak croft's API"),
  checks_failed: code(1, "`croft doctor --check` found something broken"),
  task_failed: code(1, "the awaited task ended without success (`--wait`)"),
  git_failed: code(1, "git, run by croft, failed; its own message is above"),

  usage: code(2, "an unknown or incomplete flag or argument, or two that exclude each other"),
  unknown_command: code(2, "the command does not exist"),
  missing_input: code(2, "a required value is missing and prompting is not possible"),
  unknown_field: code(2, "the output has no such field"),
  invalid_config: code(2, "a setting, profile or config file cannot be used"),

  cancelled: code(3, "the person answered no, or left the prompt"),

  not_signed_in: code(4, "there are no credentials for this service"),
  invalid_credentials: code(4, "the credentials were refused"),
  session_revoked: code(4, "the session has ended; sign in again"),
  credential_store_unavailable: code(4, "the keyring cannot be used"),

  forbidden: code(5, "signed in, but not allowed"),
  not_found: code(6, "not found, or not visible to this account"),

  conflict: code(7, "the change conflicts with the present state"),
  stale: code(7, "the item has changed since it was seen"),
  name_collision: code(7, "the name is taken"),
  invalid_destination: code(7, "the item cannot be moved there"),
  already_initialised: code(7, "this home has been initialised"),
  already_running: code(7, "another daemon holds this data directory, or the address is taken"),

  not_finished: code(8, "the task is still in progress (`--check`, `--wait`, `wait`)"),
  rate_limited: code(9, "too many requests; retry_after_s says when to try again"),
  daemon_unreachable: code(10, "nothing answers at the daemon's address"),

  provider_failed: code(11, "the cloud provider failed"),
  provider_offline: code(11, "the cloud provider cannot be reached"),

  invalid: code(12, "the server refused the values"),
  too_large: code(12, "the request is larger than the server takes"),

  reauth_required: code(13, "the cloud connection must be reconnected"),
  partial: code(14, "some of several succeeded; the results list them"),
  unsupported: code(15, "the server or the provider cannot do this"),
  challenge_required: code(16, "a code or a new password is needed"),

  storage_full: code(17, "no space left on a disk"),
  quota_exceeded: code(17, "the account's storage is used up"),
  storage_unusable: code(
    17,
    "the daemon's database or keys are damaged, or of another version of croft",
  ),
  file_error: code(17, "a local file or folder cannot be read or written"),

  interrupted: code(130, "stopped by Ctrl-C"),
  closed_pipe: code(141, "the reader of the output closed the pipe"),
  terminated: code(143, "stopped by SIGTERM"),
} as const satisfies Record<string, ErrorCodeEntry>;

export type CliErrorCode = keyof typeof errorCodes;

export function isErrorCode(word: unknown): word is CliErrorCode {
  return typeof word === "string" && Object.hasOwn(errorCodes, word);
}
