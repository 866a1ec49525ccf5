import type { LogSender } from "../report/log-sender.ts";
import type { Masker } from "../report/masker.ts";

/** The log of one job. Masks, truncates and sends its rows. */
export type JobLog = ReturnType<typeof createJobLog>;

/** Longest row. */
const LINE_CHARACTERS_MAX = 64 * 1024;

export function createJobLog(sender: LogSender, masker: Masker) {
  const writeLine = (line: string, dropped: number) => {
    const masked = masker.mask(line);
    const missing = dropped + Math.max(0, masked.length - LINE_CHARACTERS_MAX);
    if (missing === 0) sender.add(masked);
    else sender.add(`${masked.slice(0, LINE_CHARACTERS_MAX)} [${missing} characters cut]`);
  };
  return {
    /** Adds a text, one row for each of its lines. */
    write(text: string) {
      for (const line of text.split("\n")) writeLine(line, 0);
    },
    /** Adds one line that was shortened by `dropped` characters. */
    writeLine,
    /** Characters of a line that must be known: secrets at the cut are masked before it is made. */
    get lineCharacters() {
      return LINE_CHARACTERS_MAX + masker.longest;
    },
    get rows() {
      return sender.length;
    },
    get isFull() {
      return sender.isFull;
    },
    drained: () => sender.drained(),
  };
}
