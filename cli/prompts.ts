import type { CliEnvironment } from "./environment.ts";
import { CliError } from "./errors.ts";
import { sanitizeLine } from "./output/sanitize.ts";

/** One of several answers. */
interface Choice {
  readonly value: string;
  readonly name: string;
  /** Shown below the list while the cursor is on it. */
  readonly description?: string;
  /** It cannot be chosen, and why. */
  readonly disabled?: string;
}

/** Prompts on standard error. Each throws `missing_input` when prompting is not possible. */
export interface Prompts {
  /** Whether prompting is possible: terminals on both ends, no machine output, no `--no-input`. */
  canAsk(): Promise<boolean>;
  /**
   * Prompts for a line of text. `flag` is named by the error when no prompt is possible. An empty line means `byDefault`.
   */
  text(question: string, flag: string, byDefault?: string): Promise<string>;
  /** One of several; the cursor begins on `byDefault`. */
  choose(
    question: string,
    choices: readonly Choice[],
    flag: string,
    byDefault?: string,
  ): Promise<string>;
  /** A line that is not shown. */
  secret(question: string, flag: string): Promise<string>;
  /**
   * Asks for confirmation before something is destroyed, unless `--yes` is set. With `name` the user must type that name,
   * or pass it with `--confirm`. @throws CliError `cancelled` when the answer is no.
   */
  confirm(question: string, name?: string): Promise<void>;
}

/** Collaborators of the prompts. */
type PromptsDeps = Pick<CliEnvironment, "io" | "flags" | "config" | "system" | "signal" | "output">;

export function createPrompts(cli: PromptsDeps): Prompts {
  const { io, flags } = cli;
  const prompts: Prompts = {
    async canAsk() {
      return (
        flags.input &&
        !cli.output.isMachine &&
        io.isInputTerminal &&
        io.isErrorTerminal &&
        !(await cli.config()).noInput
      );
    },
    async text(question, flag, byDefault) {
      await assertCanAsk(question, flag);
      const { input } = await import("@inquirer/prompts");
      const settings = byDefault === undefined ? { required: true } : { default: byDefault };
      return ask(() => input({ message: sanitizeLine(question), ...settings }, streams()));
    },
    async choose(question, choices, flag, byDefault) {
      await assertCanAsk(question, flag);
      const { select } = await import("@inquirer/prompts");
      const settings = byDefault === undefined ? {} : { default: byDefault };
      return ask(() =>
        select(
          { message: sanitizeLine(question), choices: choices.map(toShownChoice), ...settings },
          streams(),
        ),
      );
    },
    async secret(question, flag) {
      await assertCanAsk(question, flag);
      const { password } = await import("@inquirer/prompts");
      return ask(() => password({ message: sanitizeLine(question), mask: false }, streams()));
    },
    async confirm(question, name) {
      // With `--dry-run` nothing will be destroyed.
      if (flags.dryRun) return;
      if (name !== undefined) return confirmName(question, name);
      if (flags.yes) return;
      await assertCanAsk(question, "--yes");
      const { confirm } = await import("@inquirer/prompts");
      const agreed = await ask(() =>
        confirm({ message: sanitizeLine(question), default: false }, streams()),
      );
      if (!agreed) throw new CliError("cancelled", "cancelled");
    },
  };
  return prompts;

  async function confirmName(question: string, name: string): Promise<void> {
    if (flags.confirm !== undefined) {
      if (flags.confirm === name) return;
      throw new CliError("usage", `--confirm takes the name ${JSON.stringify(name)}`);
    }
    await assertCanAsk(question, `--confirm ${name}`);
    const typed = await prompts.text(
      `${question} Type ${JSON.stringify(name)} to continue:`,
      "--confirm",
    );
    if (typed !== name)
      throw new CliError("cancelled", "the name does not match; nothing was changed");
  }

  async function assertCanAsk(question: string, flag: string): Promise<void> {
    if (await prompts.canAsk()) return;
    throw new CliError(
      "missing_input",
      `${question.replace(/[?:]$/, "")}: prompting is not possible`,
      {
        hint: `give ${flag}`,
      },
    );
  }

  /** Prompts go to standard error, because standard output may be a file. */
  function streams() {
    return { input: cli.system.stdin, output: cli.system.stderr, signal: cli.signal };
  }

  async function ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      // The prompt reads Ctrl-C as a key, so no signal comes with it.
      if (error instanceof Error && error.name === "ExitPromptError")
        throw new CliError("interrupted", "interrupted", { cause: error });
      throw error;
    }
  }
}

/** Names of providers, connections and settings come from the server. */
function toShownChoice(choice: Choice) {
  const { name, description, ...rest } = choice;
  return {
    ...rest,
    name: sanitizeLine(name),
    ...(description === undefined ? {} : { description: sanitizeLine(description) }),
  };
}
