import { forge } from "../../client/operations.ts";
import { basename } from "node:path";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import {
  printRendered,
  readText,
  renderCall,
  renderedOutput,
  type RenderOptions,
} from "./rendered.ts";

export const operations = [forge.renderMarkup];
export const output = renderedOutput;

/** What the command was given. */
export interface RenderMarkupOptions extends RenderOptions {
  /** The file's path in its repository; by default its name. */
  readonly filePath?: string;
}

export function define(command: Command, cli: CliContext, run = runRenderMarkup): void {
  command
    .argument("[file]", "a file; standard input when there is none, or for -")
    .option("--file-path <path>", "its path in the repository; by default its name")
    .option("--mode <mode>", "file, markdown, gfm, comment or wiki", "file")
    .option(
      "--context <path>",
      "/OWNER/REPO, or /OWNER/REPO/src/branch/NAME: what links are relative to",
    )
    .option("--wiki", "as a page of the wiki")
    .option("--terminal", "format for reading in a terminal")
    .action((file: string | undefined, flags: Omit<RenderMarkupOptions, "file">) =>
      run(cli, file === undefined ? flags : { file, ...flags }),
    );
}

/** Prints a file's text as HTML, in the way that its name asks for. */
async function runRenderMarkup(cli: CliContext, options: RenderMarkupOptions): Promise<void> {
  const { file, mode, context, wiki } = options;
  const filePath =
    options.filePath ?? (file === undefined || file === "-" ? undefined : basename(file));
  if (filePath === undefined && mode === "file" && wiki === undefined)
    throw usageError(
      "standard input has no name that says what it is",
      "give --file-path NAME.md, for example",
    );
  const text = await readText(cli, file);
  const body = { Text: text, Mode: mode, Context: context, Wiki: wiki, FilePath: filePath };
  const answer = await cli.client.call(forge.renderMarkup, { body }, renderCall);
  await printRendered(cli, answer, options);
}
