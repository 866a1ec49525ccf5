import { Command } from "commander";
import { type CliContext, createContext } from "../../../cli/context.ts";
import { addCommonFlags, markPlainJson } from "../../../cli/flags.ts";
import { neverStopping } from "../../../cli/report.ts";
import { fakeSystem } from "./run-cli.ts";

/**
 * Parses a line as the program does and returns the options that the command's `run` receives.
 * @throws the error that refuses the line
 */
export async function optionsOf<O>(
  define: (
    command: Command,
    cli: CliContext,
    run: (cli: CliContext, options: O) => Promise<void>,
  ) => void,
  words: readonly string[],
): Promise<O> {
  let captured: { readonly options: O } | undefined;
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
