import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { shape } from "../../output/spec.ts";

export const operations = [] as const;
export const output = shape({
  home: "string?",
  config_file: "string",
  config: "string",
  data: "string",
  state: "string",
  cache: "string",
});

export function define(command: Command, cli: CliContext, run = runConfigPath): void {
  command.action(() => run(cli));
}

/** Prints the absolute paths of croft's folders and its config file, whether they exist or not. */
async function runConfigPath(cli: CliContext): Promise<void> {
  const { readPaths } = await import("../../profile/settings.ts");
  // Not by way of all settings: where the file lies is asked for when something in it is wrong, too.
  const paths = readPaths(cli.system, cli.flags);
  const shown = {
    home: paths.home ?? null,
    config_file: paths.configFile,
    config: paths.configDirectory,
    data: paths.dataDirectory,
    state: paths.stateDirectory,
    cache: paths.cacheDirectory,
  };
  await cli.output.resource(shown, [
    { header: "config file", cell: (at) => at.config_file },
    { header: "config", cell: (at) => at.config },
    { header: "data", cell: (at) => at.data },
    { header: "state", cell: (at) => at.state },
    { header: "cache", cell: (at) => at.cache },
  ]);
}
