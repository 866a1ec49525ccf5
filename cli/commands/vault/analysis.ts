import { Option } from "commander";
import type { z } from "zod";
import type { analysisSettings } from "../../../daemon/contract/vault/cloud/shapes.ts";
import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { type Column, size } from "../../output/cells.ts";
import { resourceOf } from "../../output/spec.ts";
import { toByteSize } from "../../support/flag-values.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("get", "Show your cache and analysis settings", () => getAnalysis),
  verb("set", "Change your cache and analysis settings", () => setAnalysis),
];

const getAnalysis = {
  operations: [vault.getAnalysisSettings],
  output: resourceOf(vault.getAnalysisSettings),
  define(command, cli, run = runAnalysisGet): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the caller's choices for the byte cache and the analysis. */
async function runAnalysisGet(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.getAnalysisSettings);
  await cli.output.resource(body, analysisColumns);
}

/** Absent members stay as they are. */
interface AnalysisSetOptions {
  readonly cacheLimit?: number;
  readonly autoAnalyze?: "on" | "off";
  readonly maxAnalyze?: number;
}

export const setAnalysis = {
  operations: [vault.updateAnalysisSettings],
  output: resourceOf(vault.updateAnalysisSettings),
  define(command, cli, run = runAnalysisSet): void {
    command
      .option(
        "--cache-limit <bytes>",
        "maximum size of your byte cache, such as 512MiB",
        toByteSize,
      )
      .addOption(
        new Option("--auto-analyze <state>", "analyse new files automatically").choices([
          "on",
          "off",
        ]),
      )
      .option("--max-analyze <bytes>", "largest file that is analysed", toByteSize)
      .action((flags: AnalysisSetOptions) => {
        if (Object.keys(flags).length === 0)
          throw usageError(
            "there is nothing to change",
            "give --cache-limit, --auto-analyze or --max-analyze",
          );
        return run(cli, flags);
      });
  },
} satisfies CommandModule;

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

/** A user's choices as lines. */
const analysisColumns: readonly Column<z.output<typeof analysisSettings>>[] = [
  { header: "byte cache", cell: ({ byte_cache_limit_bytes: bytes }) => size(bytes) },
  { header: "analyse automatically", cell: ({ auto_analyze: isOn }) => isOn },
  { header: "largest analysed file", cell: ({ max_analyze_bytes: bytes }) => size(bytes) },
];
