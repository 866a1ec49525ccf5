import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";

/** What is rendered, and how it is shown. */
export interface RenderOptions {
  /** A path, or `-` for standard input, which is also meant when there is none. */
  readonly file?: string;
  readonly mode?: string;
  readonly context?: string;
  readonly wiki?: true;
  /** Formatted for reading in a terminal instead of HTML. */
  readonly terminal?: true;
}

export const renderedOutput = shape({ html: "string" });

/**
 * Rendering is for everybody: it sends no credentials. What the daemon cannot render it answers in plain text, which
 * is the message.
 */
export const renderCall = {
  authorization: "none",
  accept: ({ status, body }: { readonly status: number; readonly body: unknown }) =>
    status === 422 && typeof body === "string",
} as const;

/** The text of the file that the line names. */
export async function readText(cli: CliContext, file: string | undefined): Promise<string> {
  if (file === undefined && cli.io.isInputTerminal)
    throw usageError(
      "there is nothing to render",
      "name a file, or pipe a text into standard input",
    );
  if (file === undefined || file === "-") return cli.io.readInput();
  return readFile(resolve(cli.system.workingDirectory, file), "utf8");
}

/** Prints rendered HTML, or the same for reading; a refusal in plain text is thrown with its words. */
export async function printRendered(
  cli: CliContext,
  answer: { readonly status: number; readonly body: string | undefined },
  options: RenderOptions,
): Promise<void> {
  const html = answer.body ?? "";
  if (answer.status !== 200)
    throw new CliError("invalid", html.trim(), { httpStatus: answer.status, service: "forge" });
  if (options.terminal !== true) return cli.output.text(toReferences(html), { html });
  const { toTerminalText } = await import("./terminal-text.ts");
  const text = toTerminalText(html, { width: cli.io.columns, style: cli.io.style });
  return cli.output.text(text, { html }, true);
}

/** The same HTML with format characters, such as direction marks, as character references. */
function toReferences(html: string): string {
  return html.replace(/\p{Cf}/gu, (character) => `&#x${character.codePointAt(0)?.toString(16)};`);
}
