import type { Writable } from "node:stream";
import { CliError } from "./errors.ts";
import { sanitizeText } from "./output/sanitize.ts";
import type { System } from "./system.ts";

/** Terminal colours; identity functions without colour. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

/** The three standard streams and the terminals that they are attached to. */
export type Io = ReturnType<typeof createIo>;

/** The flags that the streams depend on. */
interface IoFlags {
  readonly quiet: boolean;
  readonly color: boolean;
}

const mebibyte = 1024 * 1024;

export function createIo(system: System, flags: () => IoFlags) {
  const { env } = system;
  const colourful = (isTerminal: boolean) =>
    isTerminal && flags().color && !isSet(env["NO_COLOR"]) && env["TERM"] !== "dumb";
  let drawn = "";
  let drawnWidths: readonly number[] = [];
  const columns = () =>
    // A terminal that does not know its size reports 0.
    system.stdout.columns || system.stderr.columns || 80;
  const draw = (text: string, widthOf = (line: string) => line.length) => {
    const lines = sanitizeText(text).split("\n");
    // A terminal that became narrower has wrapped the drawn lines.
    const before = drawnWidths.reduce(
      (rows, width) => rows + Math.max(1, Math.ceil(width / columns())),
      0,
    );
    drawnWidths = lines.map(widthOf);
    const up = before > 1 ? `\u001b[${before - 1}A` : "";
    const rest = lines.length < before ? "\u001b[J" : "";
    drawn = text;
    system.stderr.write(`\r${up}${lines.map((line) => `\u001b[2K${line}`).join("\n")}${rest}`);
  };
  const writeLine = (line: string, paint = (text: string) => text) => {
    // The line replaces the drawing.
    if (drawn !== "") draw("");
    system.stderr.write(`${paint(sanitizeText(line))}\n`);
  };
  return {
    get isInputTerminal() {
      return system.stdin.isTTY === true;
    },
    get isOutputTerminal() {
      return system.stdout.isTTY === true;
    },
    get isErrorTerminal() {
      return system.stderr.isTTY === true;
    },
    /** Width of the terminal in cells; 80 if unknown. */
    get columns() {
      return columns();
    },
    /** Height of the terminal in lines; 24 if unknown. */
    get rows() {
      return system.stdout.rows || system.stderr.rows || 24;
    },
    /** For standard output. */
    get style() {
      return toStyle(colourful(system.stdout.isTTY === true));
    },
    /** For standard error. */
    get errorStyle() {
      return toStyle(colourful(system.stderr.isTTY === true));
    },
    /** Writes to standard output and waits until more may be written. A closed pipe is `closed_pipe`. */
    write: (chunk: string | Uint8Array) => writeTo(system.stdout, chunk),
    /** Writes a line of information to standard error, sanitized, then passed through `paint`; silent with `--quiet`. */
    note(line: string, paint?: (text: string) => string) {
      if (!flags().quiet) writeLine(line, paint);
    },
    /** Writes a warning or error to standard error, sanitized, then passed through `paint`. */
    warn: writeLine,
    /**
     * Replaces the lines that were drawn on standard error's terminal before; an empty text clears them. `widthOf` returns
     * the width of a line in cells.
     */
    draw,
    /** The whole of standard input as text, without its last line end. `limit` is in bytes. */
    async readInput(limit: number = 16 * mebibyte): Promise<string> {
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of system.stdin) {
        const bytes = Buffer.from(chunk as Uint8Array | string);
        length += bytes.byteLength;
        if (length > limit)
          throw new CliError("too_large", `standard input is larger than ${limit} bytes`);
        chunks.push(bytes);
      }
      return Buffer.concat(chunks)
        .toString("utf8")
        .replace(/\r?\n$/, "");
    },
  };
}

/** Whether an environment variable has a non-empty value. */
export function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}

function writeTo(stream: Writable, chunk: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(chunk, (error) => {
      if (error === null || error === undefined) resolve();
      else if ((error as NodeJS.ErrnoException).code === "EPIPE" || stream.destroyed)
        reject(
          new CliError("closed_pipe", "the reader of the output closed the pipe", { cause: error }),
        );
      else reject(error);
    });
  });
}

function toStyle(colourful: boolean): Style {
  const paint = (on: number, off: number) => (text: string) =>
    colourful ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
  };
}

/**
 * Writes a text that is ready for the terminal: through the person's pager (`PAGER`, else `less`) when it has more lines
 * than the terminal, and directly otherwise, in pipes, and where no pager starts. `PAGER=cat` turns it off.
 */
export async function writeLong(io: Io, system: System, text: string): Promise<void> {
  const isLong = text.split("\n").length > io.rows;
  const pager = system.env["PAGER"] ?? "less";
  const isOff = pager.trim() === "" || pager.trim() === "cat" || system.env["TERM"] === "dumb";
  if (!isLong || isOff || !io.isOutputTerminal || !io.isInputTerminal) return io.write(text);
  if (!(await system.page(pager, text))) await io.write(text);
}
