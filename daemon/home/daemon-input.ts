// daemon/home: work on a home as a whole, served or not: its lock, administrators, upkeep, check, backups and their restore.
// Start here: the input of every start. The composition root opens the stores; this room gets what they are made of.
import type { GitLauncher } from "../../storage/git/git.ts";
import type { ScriptProgram } from "../jobs/process-pool.ts";
import type { SettingPaths } from "../settings/paths.ts";
import type { Settings } from "../settings/settings.ts";
import type { HashCost } from "../utilities/password-hasher.ts";

/** The input of a daemon: resolved settings and the process's environment. */
export interface DaemonInput {
  readonly settings: Settings;
  readonly paths: SettingPaths;
  readonly version: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly process: {
    readonly pid: number;
    /** Distinguishes this process from a later one with the same id; undefined where the system does not provide it. */
    readonly mark?: string | undefined;
    readonly userId: number | undefined;
  };
  /** Runs the scripts of child processes; the Node of this process when absent. */
  readonly scriptProgram?: ScriptProgram;
  /** Where log lines go: standard error in the foreground. */
  readonly logTo: { write(line: string): unknown; readonly isTTY?: boolean };
  /** Receives the same lines as JSON, whatever `log_format` says: the log file. */
  readonly recordTo?: { write(line: string): unknown };
  /**
   * Calls the listener for errors that no code handled, until the returned function is called. Without it they end the
   * process.
   */
  readonly onUnhandled?: (
    listener: (error: unknown, origin: "rejection" | "collected_file") => void,
  ) => () => void;
  /** Runs before the first request for the forge or the vault loads h3. */
  readonly beforeParts?: () => Promise<void>;
  /** For tests: parse every JSON response with its declared schema and fail on a difference. */
  readonly checkReplies?: boolean;
  /** For tests: hears of every answer of an operation. */
  readonly onAnswer?: (operation: string, status: number) => void;
  /** For tests: starts git for all daemons of one process, one after the other. */
  readonly gitLauncher?: GitLauncher;
  /** For tests: a cheap cost of the hashes of passwords. */
  readonly passwordCost?: HashCost;
}
