import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { shape } from "../output/spec.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("markdown", "Render Markdown as HTML", () => renderMarkdown),
  verb("markup", "Render a file as HTML, by its file name", () => renderMarkup),
];

const renderedOutput = shape({ html: "string" });

export const renderMarkdown = {
  operations: [forge.renderMarkdown],
  output: renderedOutput,
  define(command, cli, run = runRenderMarkdown): void {
    command
      .argument("[file]", "a file; standard input when absent or -")
      .option("--mode <mode>", "markdown, gfm, comment or wiki; the server's default is markdown")
      .option(
        "--context <path>",
        "/OWNER/REPO, or /OWNER/REPO/src/branch/NAME: the base of relative links",
      )
      .option("--wiki", "as a page of the wiki")
      .option("--terminal", "format for reading in a terminal")
      .action((file: string | undefined, flags: Omit<RenderOptions, "file">) =>
        run(cli, file === undefined ? flags : { file, ...flags }),
      );
  },
} satisfies CommandModule;

/** Prints Markdown as HTML. */
async function runRenderMarkdown(cli: CliContext, options: RenderOptions): Promise<void> {
  const { file, mode, context, wiki } = options;
  const body = { Text: await readText(cli, file), Mode: mode, Context: context, Wiki: wiki };
  const answer = await cli.client.call(forge.renderMarkdown, { body }, renderCall);
  await printRendered(cli, answer, options);
}

interface RenderMarkupOptions extends RenderOptions {
  /** The file's path in its repository; by default its name. */
  readonly filePath?: string;
}

export const renderMarkup = {
  operations: [forge.renderMarkup],
  output: renderedOutput,
  define(command, cli, run = runRenderMarkup): void {
    command
      .argument("[file]", "a file; standard input when absent or -")
      .option("--file-path <path>", "its path in the repository; by default its name")
      .option("--mode <mode>", "file, markdown, gfm, comment or wiki", "file")
      .option(
        "--context <path>",
        "/OWNER/REPO, or /OWNER/REPO/src/branch/NAME: the base of relative links",
      )
      .option("--wiki", "as a page of the wiki")
      .option("--terminal", "format for reading in a terminal")
      .action((file: string | undefined, flags: Omit<RenderMarkupOptions, "file">) =>
        run(cli, file === undefined ? flags : { file, ...flags }),
      );
  },
} satisfies CommandModule;

/** Prints a file's text as HTML; the file name's extension selects the format. */
async function runRenderMarkup(cli: CliContext, options: RenderMarkupOptions): Promise<void> {
  const { file, mode, context, wiki } = options;
  const filePath =
    options.filePath ?? (file === undefined || file === "-" ? undefined : basename(file));
  if (filePath === undefined && mode === "file" && wiki === undefined)
    throw usageError(
      "standard input has no file name to select a format",
      "give --file-path NAME.md, for example",
    );
  const text = await readText(cli, file);
  const body = { Text: text, Mode: mode, Context: context, Wiki: wiki, FilePath: filePath };
  const answer = await cli.client.call(forge.renderMarkup, { body }, renderCall);
  await printRendered(cli, answer, options);
}

/** The text to render, and how to print it. */
interface RenderOptions {
  /** A path; `-` or undefined for standard input. */
  readonly file?: string;
  readonly mode?: string;
  readonly context?: string;
  readonly wiki?: true;
  /** Formatted for reading in a terminal instead of HTML. */
  readonly terminal?: true;
}

/**
 * Sends no credentials, because rendering is open to anonymous callers. The daemon explains a failure in plain text,
 * which becomes the message.
 */
export const renderCall = {
  authorization: "none",
  accept: ({ status, body }: { readonly status: number; readonly body: unknown }) =>
    status === 422 && typeof body === "string",
} as const;

/** Reads the file that the command line names, or standard input. */
async function readText(cli: CliContext, file: string | undefined): Promise<string> {
  if (file === undefined && cli.io.isInputTerminal)
    throw usageError(
      "there is nothing to render",
      "name a file, or pipe a text into standard input",
    );
  if (file === undefined || file === "-") return cli.io.readInput();
  return readFile(resolve(cli.system.workingDirectory, file), "utf8");
}

/**
 * Prints rendered HTML, or a text layout of it. @throws CliError with the daemon's message for a refusal in plain text
 */
async function printRendered(
  cli: CliContext,
  answer: { readonly status: number; readonly body: string | undefined },
  options: RenderOptions,
): Promise<void> {
  const html = answer.body ?? "";
  if (answer.status !== 200)
    throw new CliError("invalid", html.trim(), { httpStatus: answer.status, service: "forge" });
  if (options.terminal !== true) return cli.output.text(toReferences(html), { html });
  const { toTerminalText } = await import("../output/terminal-html.ts");
  const text = toTerminalText(html, { width: cli.io.columns, style: cli.io.style });
  return cli.output.page(text, { html }, true);
}

/** Escapes format characters, such as direction marks, as character references. */
function toReferences(html: string): string {
  return html.replace(/\p{Cf}/gu, (character) => `&#x${character.codePointAt(0)?.toString(16)};`);
}
