import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { analysisColumns } from "./analysis-columns.ts";

export const operations = [vault.getAnalysisSettings];
export const output = resourceOf(vault.getAnalysisSettings);

export function define(command: Command, cli: CliContext, run = runAnalysisGet): void {
  command.action(() => run(cli));
}

/** Prints the caller's choices for the byte cache and the analysis. */
async function runAnalysisGet(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.getAnalysisSettings);
  await cli.output.resource(body, analysisColumns);
}
