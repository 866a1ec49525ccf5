import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import {
  printRendered,
  readText,
  renderCall,
  renderedOutput,
  type RenderOptions,
} from "./rendered.ts";

export const operations = [forge.renderMarkdown];
export const output = renderedOutput;

export function define(command: Command, cli: CliContext, run = runRenderMarkdown): void {
  command
    .argument("[file]", "a file; standard input when there is none, or for -")
    .option("--mode <mode>", "markdown, gfm, comment or wiki; the server's default is markdown")
    .option(
      "--context <path>",
      "/OWNER/REPO, or /OWNER/REPO/src/branch/NAME: what links are relative to",
    )
    .option("--wiki", "as a page of the wiki")
    .option("--terminal", "format for reading in a terminal")
    .action((file: string | undefined, flags: Omit<RenderOptions, "file">) =>
      run(cli, file === undefined ? flags : { file, ...flags }),
    );
}

/** Prints Markdown as HTML. */
async function runRenderMarkdown(cli: CliContext, options: RenderOptions): Promise<void> {
  const { file, mode, context, wiki } = options;
  const body = { Text: await readText(cli, file), Mode: mode, Context: context, Wiki: wiki };
  const answer = await cli.client.call(forge.renderMarkdown, { body }, renderCall);
  await printRendered(cli, answer, options);
}
