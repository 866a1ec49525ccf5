import type { Io } from "../io.ts";
import type { System } from "../system.ts";

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
