import { vault } from "../../../client/operations.ts";
import { type Command, Option } from "commander";
import { toByteSize } from "../../../byte-size.ts";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { resourceOf } from "../../../output/spec.ts";
import { analysisColumns } from "./analysis-columns.ts";

export const operations = [vault.updateAnalysisSettings];
export const output = resourceOf(vault.updateAnalysisSettings);

/** What the command was given: what is absent stays as it is. */
export interface AnalysisSetOptions {
  readonly cacheLimit?: number;
  readonly autoAnalyze?: "on" | "off";
  readonly maxAnalyze?: number;
}

export function define(command: Command, cli: CliContext, run = runAnalysisSet): void {
  command
    .option(
      "--cache-limit <bytes>",
      "most bytes of files that are kept for you, such as 512MiB",
      toByteSize,
    )
    .addOption(
      new Option("--auto-analyze <state>", "analyse new files by itself").choices(["on", "off"]),
    )
    .option("--max-analyze <bytes>", "largest file that is analysed", toByteSize)
    .action((options: AnalysisSetOptions) => {
      if (Object.keys(options).length === 0)
        throw usageError(
          "there is nothing to change",
          "give --cache-limit, --auto-analyze or --max-analyze",
        );
      return run(cli, options);
    });
}

/** Changes the caller's choices and prints them. A lower cache limit takes effect at once. */
async function runAnalysisSet(
  cli: CliContext,
  { cacheLimit, autoAnalyze, maxAnalyze }: AnalysisSetOptions,
): Promise<void> {
  const { body } = await cli.client.call(vault.updateAnalysisSettings, {
    body: {
      ...(cacheLimit === undefined ? {} : { byte_cache_limit_bytes: cacheLimit }),
      ...(autoAnalyze === undefined ? {} : { auto_analyze: autoAnalyze === "on" }),
      ...(maxAnalyze === undefined ? {} : { max_analyze_bytes: maxAnalyze }),
    },
  });
  await cli.output.resource(body, analysisColumns);
}
