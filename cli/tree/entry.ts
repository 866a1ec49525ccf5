import type { Command } from "commander";
import type { AnyOperation } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import type { OutputSpec } from "../output/spec.ts";
import type { System } from "../system.ts";

/** The description of an example, and the command as typed in a shell. */
export type Example = readonly [sentence: string, line: string];

/** A command without its name and summary: what `command` makes of its details. */
export interface CommandDefinition {
  /** Two examples or more for its help page, the reference and the manual. A test runs each of them. */
  readonly examples: readonly Example[];
  /** The operations that it calls. Those that write give it `--dry-run`. */
  readonly calls: readonly AnyOperation[];
  /** Its output in machine modes; `croft schema` shows it. */
  readonly output: OutputSpec;
  /**
   * Whether it changes something and so takes `--dry-run`. Without it, whether it calls an operation that is not a GET. False
   * where all of these only read.
   */
  readonly writes?: boolean;
  /**
   * The command destroys something, and so takes `--yes` and `--confirm`. A command that calls DELETE sets false when its
   * effect can be undone.
   */
  readonly destructive?: boolean;
  /**
   * Flags whose values the command prompts for on a terminal, such as `--password-stdin or --random-password`. Where
   * prompting is not possible, a line without them is refused before the command runs, with everything else that it lacks.
   */
  readonly prompted?: readonly string[];
  /**
   * Operations whose bodies take the values of flags unchanged, under the flags' names. A line that is refused for another
   * reason, such as a missing flag, is refused with the mistakes in these values, too.
   */
  readonly takesValuesOf?: readonly AnyOperation[];
  /**
   * Values that shells complete, where cli/commands/completion/kinds.ts does not know them: by the name of an argument, or
   * of a flag with its dashes.
   */
  readonly completions?: Readonly<Record<string, CompletionKind>>;
  /** Adds arguments, flags and the action; tests give a `run` of their own. The caller adds the common flags. */
  define(
    command: Command,
    cli: CliContext,
    run?: (cli: CliContext, options: never) => Promise<void> | void,
  ): void;
}

/**
 * Forge values that `croft __complete` can list. Some belong to the repository or organization named on the command line.
 */
export type ForgeValueKind =
  | "users"
  | "organizations"
  | "owners"
  | "repositories"
  | "issues"
  | "runs"
  | "run_jobs"
  | "threads"
  | "hooks"
  | "cron_tasks"
  | "runners"
  | "teams"
  | "labels"
  | "milestones"
  | "branches"
  | "tags"
  | "releases"
  | "wiki_pages"
  | "workflows"
  | "tokens"
  | "ssh_keys"
  | "deploy_keys"
  | "badges";

/**
 * Vault values that it can list. `items`: addresses such as `CONNECTION:/path/to/file`, folder by folder; `transfers`:
 * those and local files. `documents` and `shares` are ids; `handles` are the users with whom the caller has shared
 * before.
 */
export type VaultValueKind =
  | "accounts"
  | "connections"
  | "items"
  | "transfers"
  | "documents"
  | "shares"
  | "handles"
  | "topics"
  | "vault_tokens"
  | "sessions";

/** The completion of an argument or a flag's value. The first three need no daemon. */
export type CompletionKind = "profiles" | "settings" | "commands" | ForgeValueKind | VaultValueKind;

/** One command in the tree. `load` imports its file, and nothing else does. */
export interface Verb {
  readonly kind: "verb";
  readonly name: string;
  readonly summary: string;
  readonly aliases: readonly string[];
  /** Left out of help, completion and documents. */
  readonly hidden: boolean;
  readonly load: () => CommandDefinition | Promise<CommandDefinition>;
}

/** A group of commands. Its entries may lie in a file of their own, imported when the group is entered. */
export interface Noun {
  readonly kind: "noun";
  readonly name: string;
  readonly summary: string;
  readonly aliases: readonly string[];
  readonly load: () => Promise<{ readonly entries: readonly Entry[] }>;
}

export type Entry = Verb | Noun;

/** Runs another line of the process, as `croft help` does. */
export type RunLine = (
  argv: readonly string[],
  system: System,
) => Promise<{ readonly exitCode: number }>;

/** Declares a group: its entries, or the import of the file that exports them as `entries`. */
export function noun(
  name: string,
  summary: string,
  entries: readonly Entry[] | (() => Promise<{ readonly entries: readonly Entry[] }>),
  ...aliases: readonly string[]
): Noun {
  const load = typeof entries === "function" ? entries : async () => ({ entries });
  return { kind: "noun", name, summary, aliases, load };
}
