import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { shape } from "../output/spec.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

const renderedOutput = shape({ html: "string" });

export const entries: readonly Entry[] = [
  command("markdown", "Render Markdown as HTML", {
    args: { "[file]": "a file; standard input when absent or -" },
    flags: {
      "--mode <mode>": "markdown, gfm, comment or wiki; the server's default is markdown",
      "--context <path>": "/OWNER/REPO, or /OWNER/REPO/src/branch/NAME: the base of relative links",
      "--wiki": "as a page of the wiki",
      "--terminal": "format for reading in a terminal",
    },
    calls: [forge.renderMarkdown],
    output: renderedOutput,
    examples: [
      ["Render a file as HTML", "croft render markdown notes.md"],
      ["Read a file in the terminal", "croft render markdown notes.md --terminal"],
    ],
    /** Prints Markdown as HTML. */
    async run(cli, options) {
      const { file, mode, context, wiki } = options;
      const body = { Text: await readText(cli, file), Mode: mode, Context: context, Wiki: wiki };
      const answer = await cli.client.call(forge.renderMarkdown, { body }, renderCall);
      await printRendered(cli, answer, options);
    },
  }),
  command("markup", "Render a file as HTML, by its file name", {
    args: { "[file]": "a file; standard input when absent or -" },
    flags: {
      "--file-path <path>": "its path in the repository; by default its name",
      "--mode <mode>": { help: "file, markdown, gfm, comment or wiki", default: "file" },
      "--context <path>": "/OWNER/REPO, or /OWNER/REPO/src/branch/NAME: the base of relative links",
      "--wiki": "as a page of the wiki",
      "--terminal": "format for reading in a terminal",
    },
    calls: [forge.renderMarkup],
    output: renderedOutput,
    examples: [
      ["Render a file as HTML", "croft render markup notes.md"],
      [
        "Render standard input as the file that it is",
        "croft render markup - --file-path docs/notes.md < notes.md",
      ],
    ],
    /** Prints a file's text as HTML; the file name's extension selects the format. */
    async run(cli, options) {
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
    },
  }),
];

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
  { terminal }: { readonly terminal?: true },
): Promise<void> {
  const html = answer.body ?? "";
  if (answer.status !== 200)
    throw new CliError("invalid", html.trim(), { httpStatus: answer.status, service: "forge" });
  if (terminal !== true) return cli.output.text(toReferences(html), { html });
  const { toTerminalText } = await import("../output/terminal-html.ts");
  const text = toTerminalText(html, { width: cli.io.columns, style: cli.io.style });
  return cli.output.page(text, { html }, true);
}

/** Escapes format characters, such as direction marks, as character references. */
function toReferences(html: string): string {
  return html.replace(/\p{Cf}/gu, (character) => `&#x${character.codePointAt(0)?.toString(16)};`);
}
