import { Command } from "commander";
import { commands } from "../../../cli/program.ts";
import { createContext } from "../../../cli/context.ts";
import { addCommonFlags, markPlainJson } from "../../../cli/flags.ts";
import { neverStopping } from "../../../cli/report.ts";
import { findCommand } from "../../../cli/tree/command-tree.ts";
import { fakeSystem, runCli } from "./run-cli.ts";

/**
 * Parses the words after a command, such as `admin user list`, as the program does, and returns the options that the command's
 * `run` receives.
 * @throws the error that refuses the line
 */
export async function optionsOf(line: string, words: readonly string[]): Promise<unknown> {
  const { verb } = await findCommand(line.split(" "), commands);
  if (verb === undefined) throw new Error(`${line} is no command`);
  const { define } = await verb.load();
  let captured: { readonly options: unknown } | undefined;
  const cli = createContext(fakeSystem({ home: "/nowhere" }), neverStopping);
  const command = new Command("test").exitOverride().configureOutput({ writeErr: () => undefined });
  define(command, cli, async (_cli, options) => {
    captured = { options };
  });
  addCommonFlags(command, { list: false, write: true, destructive: true, bytes: false });
  await command.parseAsync([...markPlainJson(words, command)], { from: "user" });
  if (captured === undefined) throw new Error("the action did not run");
  return captured.options;
}

/**
 * Runs a command that refuses its words before it sends a request, and returns what it prints on standard error.
 * @throws when it does not end with the exit code of a usage error
 */
export async function refusalOf(line: string, words: readonly string[]): Promise<string> {
  const env = { CROFT_URL: "http://127.0.0.1:9" };
  const ran = await runCli([...line.split(" "), ...words], { home: "/nowhere", env });
  if (ran.code !== 2) throw new Error(`exit code ${ran.code}: ${ran.err}`);
  return ran.err;
}
