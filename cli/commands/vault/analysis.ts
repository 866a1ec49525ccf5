import type { z } from "zod";
import type { analysisSettings } from "../../../daemon/contract/vault/cloud/shapes.ts";
import { vault } from "../../client/operations.ts";
import { usageError } from "../../errors.ts";
import { type Column, size } from "../../output/cells.ts";
import { resourceOf } from "../../output/spec.ts";
import { toByteSize } from "../../support/flag-values.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("get", "Show your cache and analysis settings", {
    calls: [vault.getAnalysisSettings],
    output: resourceOf(vault.getAnalysisSettings),
    examples: [
      ["Show your settings", "croft vault analysis get"],
      ["Print them as YAML", "croft vault analysis get --format yaml"],
    ],
    /** Prints the caller's choices for the byte cache and the analysis. */
    async run(cli) {
      const { body } = await cli.client.call(vault.getAnalysisSettings);
      await cli.output.resource(body, analysisColumns);
    },
  }),
  command("set", "Change your cache and analysis settings", {
    flags: {
      "--cache-limit <bytes>": {
        help: "maximum size of your byte cache, such as 512MiB",
        parse: toByteSize,
      },
      "--auto-analyze <state>": { help: "analyse new files automatically", choices: ["on", "off"] },
      "--max-analyze <bytes>": { help: "largest file that is analysed", parse: toByteSize },
    },
    calls: [vault.updateAnalysisSettings],
    output: resourceOf(vault.updateAnalysisSettings),
    examples: [
      ["Keep at most 512 MiB of files", "croft vault analysis set --cache-limit 512MiB"],
      ["Analyse new files", "croft vault analysis set --auto-analyze on --max-analyze 20MiB"],
    ],
    /** Changes the caller's choices and prints them. A lower cache limit takes effect at once. */
    async run(cli, flags) {
      if (Object.keys(flags).length === 0)
        throw usageError(
          "there is nothing to change",
          "give --cache-limit, --auto-analyze or --max-analyze",
        );
      const { cacheLimit, autoAnalyze, maxAnalyze } = flags;

      const { body } = await cli.client.call(vault.updateAnalysisSettings, {
        body: {
          ...(cacheLimit === undefined ? {} : { byte_cache_limit_bytes: cacheLimit }),
          ...(autoAnalyze === undefined ? {} : { auto_analyze: autoAnalyze === "on" }),
          ...(maxAnalyze === undefined ? {} : { max_analyze_bytes: maxAnalyze }),
        },
      });
      await cli.output.resource(body, analysisColumns);
    },
  }),
];

/** A user's choices as lines. */
const analysisColumns: readonly Column<z.output<typeof analysisSettings>>[] = [
  { header: "byte cache", cell: ({ byte_cache_limit_bytes: bytes }) => size(bytes) },
  { header: "analyse automatically", cell: ({ auto_analyze: isOn }) => isOn },
  { header: "largest analysed file", cell: ({ max_analyze_bytes: bytes }) => size(bytes) },
];
