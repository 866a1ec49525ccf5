import type { CliContext } from "../context.ts";

/** Whether a full-screen view is possible. Otherwise the plain command runs. */
export async function canShowScreen(cli: CliContext): Promise<boolean> {
  return (
    cli.io.isOutputTerminal && cli.system.env["TERM"] !== "dumb" && (await cli.prompts.canAsk())
  );
}
