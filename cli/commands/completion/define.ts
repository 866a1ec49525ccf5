import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import type { OutputSpec } from "../../output/spec.ts";
import { shape } from "../../output/spec.ts";
import { type CompletionRow, toCompletionTable } from "./table.ts";

/** What each of the shells' commands prints in machine modes. */
export const scriptOutput: OutputSpec = shape({ shell: "string", script: "string" });

/** Defines the command of one shell. `toScript` writes its script from the table of words. */
export function defineScript(
  command: Command,
  cli: CliContext,
  shell: string,
  toScript: (rows: readonly CompletionRow[]) => string,
): void {
  command.action(async () => {
    const script = toScript(await toCompletionTable(cli));
    await cli.output.text(script, { shell, script });
  });
}
