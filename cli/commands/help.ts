import { Writable } from "node:stream";
import type { Command } from "commander";
import { commands } from "../commands.ts";
import type { CliContext } from "../context.ts";
import { errorCodes, exitCodes } from "../exit-codes.ts";
import { findCommand } from "../find-command.ts";
import { toObjectSchema, type OutputSpec } from "../output/spec.ts";

export const operations = [] as const;
export const completions = { words: "commands" } as const;
export const output: OutputSpec = {
  kind: "shape",
  list: false,
  schema: {
    anyOf: [
      toObjectSchema({
        exit_codes: {
          type: "array",
          items: toObjectSchema({ code: "integer", meaning: "string" }),
        },
        error_codes: {
          type: "array",
          items: toObjectSchema({ code: "string", exit_code: "integer", meaning: "string" }),
        },
      }),
      toObjectSchema({ command: "string", text: "string" }),
    ],
  },
};

/** What the command was given. */
export interface HelpOptions {
  readonly words: readonly string[];
}

export function define(command: Command, cli: CliContext, run = runHelp): void {
  command
    .argument("[words...]", 'a command, or the topic "exit-codes"')
    .action((words: readonly string[]) => run(cli, { words }));
}

/** Prints the help page of a command or group, or a topic. */
async function runHelp(cli: CliContext, { words }: HelpOptions): Promise<void> {
  if (words[0] === "exit-codes" && words.length === 1)
    return cli.output.text(toExitCodesText(), toExitCodesValue());
  const { runProgram } = await import("../program.ts");
  const line = [...words, "--help"];
  if (!cli.output.isMachine) {
    const { exitCode } = await runProgram(line, cli.system);
    return cli.finishWith(exitCode);
  }
  // A command that is not there is told of as everywhere, before its page is asked for.
  await findCommand(words, commands);
  const page: Buffer[] = [];
  const stdout = new Writable({
    write(chunk: Buffer | string, _encoding, done) {
      page.push(Buffer.from(chunk));
      done();
    },
  });
  await runProgram(line, { ...cli.system, stdout });
  const text = Buffer.concat(page).toString("utf8");
  await cli.output.text(text, { command: words.join(" "), text });
}

/** The tables of exit codes and error codes for people. */
function toExitCodesText(): string {
  const exits = Object.entries(exitCodes).map(
    ([code, meaning]) => `${code.padStart(5)}  ${meaning}`,
  );
  const width = Math.max(...Object.keys(errorCodes).map((code) => code.length));
  const errors = Object.entries(errorCodes).map(
    ([code, { exit, meaning }]) =>
      `  ${code.padEnd(width)}  ${String(exit).padStart(3)}  ${meaning}`,
  );
  return [
    "Exit codes follow the outcome, not the HTTP status:",
    "",
    ...exits,
    "",
    "With --json and its kin a failure is one line of JSON on standard error; its error.code is one of:",
    "",
    ...errors,
    "",
  ].join("\n");
}

function toExitCodesValue() {
  return {
    exit_codes: Object.entries(exitCodes).map(([code, meaning]) => ({
      code: Number(code),
      meaning,
    })),
    error_codes: Object.entries(errorCodes).map(([code, { exit, meaning }]) => ({
      code,
      exit_code: exit,
      meaning,
    })),
  };
}
