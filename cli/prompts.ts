import type { CliEnvironment } from "./environment.ts";
import { CliError } from "./errors.ts";
import { sanitizeLine } from "./output/sanitize.ts";
import { toShellWord } from "./output/shell-word.ts";

/** One of several answers. */
interface Choice {
  readonly value: string;
  readonly name: string;
  /** Shown below the list while the cursor is on it. */
  readonly description?: string;
  /** It cannot be chosen, and why. */
  readonly disabled?: string;
}

/** A value that a command would prompt for, and whether its flag is missing. */
interface MissingFlag {
  readonly flag: string;
  readonly isMissing: boolean;
}

/** Prompts on standard error. Each throws `missing_input` when prompting is not possible. */
export type Prompts = ReturnType<typeof createPrompts>;

/** Collaborators of the prompts. */
type PromptsDeps = Pick<CliEnvironment, "io" | "flags" | "config" | "system" | "signal" | "output">;

export function createPrompts(cli: PromptsDeps) {
  const { io, flags } = cli;
  const prompts = {
    /** Whether prompting is possible: terminals on both ends, no machine output, no `--no-input`. */
    async canAsk(): Promise<boolean> {
      return (
        flags.input &&
        !cli.output.isMachine &&
        io.isInputTerminal &&
        io.isErrorTerminal &&
        !(await cli.config()).noInput
      );
    },
    /** Throws `missing_input` that names all missing flags when prompting is not possible. */
    async require(flags: readonly MissingFlag[]): Promise<void> {
      const missing = flags.filter(({ isMissing }) => isMissing).map(({ flag }) => flag);
      if (missing.length > 0 && !(await prompts.canAsk())) throw missingInput(missing);
    },
    /**
     * Prompts for a line of text. `flag` is named by the error when no prompt is possible. An empty line means `byDefault`.
     */
    async text(question: string, flag: string, byDefault?: string): Promise<string> {
      await assertCanAsk(flag);
      const { input } = await import("@inquirer/prompts");
      const settings = byDefault === undefined ? { required: true } : { default: byDefault };
      return ask(() => input({ message: sanitizeLine(question), ...settings }, streams()));
    },
    /** One of several; the cursor begins on `byDefault`. */
    async choose(
      question: string,
      choices: readonly Choice[],
      flag: string,
      byDefault?: string,
    ): Promise<string> {
      await assertCanAsk(flag);
      const { select } = await import("@inquirer/prompts");
      const settings = byDefault === undefined ? {} : { default: byDefault };
      return ask(() =>
        select(
          { message: sanitizeLine(question), choices: choices.map(toShownChoice), ...settings },
          streams(),
        ),
      );
    },
    /** Prompts for a line without echo. */
    async secret(question: string, flag: string): Promise<string> {
      await assertCanAsk(flag);
      const { password } = await import("@inquirer/prompts");
      return ask(() => password({ message: sanitizeLine(question), mask: false }, streams()));
    },
    /**
     * Asks for confirmation before something is destroyed, unless `--yes` is set. With `name` the user must type that name,
     * or pass it with `--confirm`. @throws CliError `cancelled` when the answer is no.
     */
    async confirm(question: string, name?: string): Promise<void> {
      // With `--dry-run` nothing will be destroyed.
      if (flags.dryRun) return;
      if (name !== undefined) return confirmName(question, name);
      if (flags.yes) return;
      await assertCanConfirm(question, "--yes");
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
    await assertCanConfirm(question, `--confirm ${toShellWord(name)}`);
    const typed = await prompts.text(
      `${question} Type ${JSON.stringify(name)} to continue:`,
      "--confirm",
    );
    if (typed !== name)
      throw new CliError("cancelled", "the name does not match; nothing was changed");
  }

  async function assertCanAsk(flag: string): Promise<void> {
    if (!(await prompts.canAsk())) throw missingInput([flag]);
  }

  async function assertCanConfirm(question: string, flag: string): Promise<void> {
    if (await prompts.canAsk()) return;
    throw new CliError(
      "missing_input",
      `${JSON.stringify(question)} must be confirmed, and prompting is not possible`,
      { hint: `give ${flag}` },
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

/** The failure of a command that cannot prompt for the values of these flags. */
function missingInput(flags: readonly string[]): CliError {
  const list = [flags.slice(0, -1).join(", "), flags.at(-1)].filter((one) => one !== "");
  const verb = flags.length === 1 ? "is" : "are";
  return new CliError(
    "missing_input",
    `${list.join(" and ")} ${verb} missing, and prompting is not possible`,
    { hint: `give ${list.join(" and ")}` },
  );
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
