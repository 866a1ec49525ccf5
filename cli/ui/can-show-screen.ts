import type { CliContext } from "../context.ts";

/** Whether somebody sits at a terminal that can show a screen. Otherwise the command's plain twin is what is wanted. */
export async function canShowScreen(cli: CliContext): Promise<boolean> {
  return (
    cli.io.isOutputTerminal && cli.system.env["TERM"] !== "dumb" && (await cli.prompts.canAsk())
  );
}
