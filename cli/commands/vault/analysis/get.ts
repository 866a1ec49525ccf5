import type { Command } from "commander";
import type { getAnalysisSettings as getAnalysisSettingsEndpoint } from "../../../../daemon/contract/vault/cloud/connections.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { analysisColumns } from "./analysis-columns.ts";

const getAnalysisSettings = operation<typeof getAnalysisSettingsEndpoint>(
  "vault.cloud.analysis_settings.view",
  "GET",
  "/api/cloud/analysis-settings",
);

export const operations = [getAnalysisSettings];
export const output = resourceOf(getAnalysisSettings);

export function define(command: Command, cli: CliContext, run = runAnalysisGet): void {
  command.action(() => run(cli));
}

/** Prints the caller's choices for the byte cache and the analysis. */
async function runAnalysisGet(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(getAnalysisSettings);
  await cli.output.resource(body, analysisColumns);
}
