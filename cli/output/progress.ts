import stringWidth from "string-width";
import type { CommonFlags, ProgressMode } from "../flags.ts";
import type { Io } from "../io.ts";
import { toSizeText } from "./cells.ts";
import { toVisibleLine } from "./visible.ts";
import { cutEnd } from "./width.ts";

/** The progress of transfers on standard error: a bar on a terminal, events for scripts that ask, else nothing. */
export interface Progress {
  /** One transfer begins. `total` is in bytes; undefined when nobody knows. */
  begin(name: string, total: number | undefined): Transfer;
}

export interface Transfer {
  /** So many bytes are done in all. May be called as often as one likes. */
  update(bytes: number): void;
  /** The transfer is over, well or not; the line of the bar is gone. */
  end(outcome: "done" | "failed"): void;
}

/** At most ten frames a second: a terminal far away must not slow the transfer down. */
const frameMs = 100;

export function createProgress(
  {
    io,
    flags,
    clock,
    dumb,
  }: {
    readonly io: Io;
    readonly flags: CommonFlags;
    readonly clock: () => number;
    /** The terminal cannot rewrite a line. */
    readonly dumb: boolean;
  },
  isMachine: boolean,
): Progress {
  const mode = toMode(io, flags, isMachine, dumb);
  return {
    begin(name, total) {
      const startedAt = clock();
      let shownAt = -Infinity;
      let done = 0;
      const event = (what: string) =>
        io.warn(JSON.stringify({ event: what, item: name, bytes: done, total: total ?? null }));
      const show = () => {
        if (mode === "json") event("progress");
        if (mode === "bar")
          io.draw(toBar({ name, done, total, ms: clock() - startedAt, columns: io.columns }));
      };
      return {
        update(bytes) {
          done = bytes;
          if (mode === "none" || clock() - shownAt < frameMs) return;
          shownAt = clock();
          show();
        },
        end(outcome) {
          if (mode === "json") event(outcome);
          if (mode === "bar") io.draw("");
        },
      };
    },
  };
}

function toMode(io: Io, flags: CommonFlags, isMachine: boolean, dumb: boolean): ProgressMode {
  if (flags.progress !== undefined) return flags.progress;
  return flags.quiet || isMachine || dumb || !io.isErrorTerminal ? "none" : "bar";
}

interface BarInput {
  readonly name: string;
  readonly done: number;
  readonly total: number | undefined;
  readonly ms: number;
  readonly columns: number;
}

/** `report.pdf  [=====>    ]  45%  12.0 MiB/26.7 MiB  8.1 MiB/s  2 s left`, never as wide as the terminal. */
export function toBar({ name, done, total, ms, columns }: BarInput): string {
  const rate = ms < 300 ? 0 : (done * 1000) / ms;
  const parts = [
    total === undefined ? toSizeText(done) : `${toSizeText(done)}/${toSizeText(total)}`,
    rate === 0 ? "" : `${toSizeText(Math.round(rate))}/s`,
    rate === 0 || total === undefined ? "" : `${toTimeText((total - done) / rate)} left`,
  ].filter((part) => part !== "");
  if (total !== undefined) parts.unshift(`${String(percentOf(done, total)).padStart(3)}%`);
  const tail = parts.join("  ");
  const room = columns - 1 - stringWidth(tail) - 2;
  const title = cutEnd(toVisibleLine(name), Math.max(0, Math.min(30, room)));
  const barRoom = room - stringWidth(title) - 4;
  const bar =
    total === undefined || barRoom < 8 ? "" : `  ${drawBar(done, total, Math.min(barRoom, 30))}`;
  const line = `${title}${bar}  ${tail}`;
  return stringWidth(line) < columns ? line : cutEnd(tail, columns - 1);
}

function drawBar(done: number, total: number, width: number): string {
  const cells = width - 2;
  const full = total === 0 ? cells : Math.min(cells, Math.floor((done / total) * cells));
  const head = full > 0 && full < cells ? `${"=".repeat(full - 1)}>` : "=".repeat(full);
  return `[${head.padEnd(cells)}]`;
}

function percentOf(done: number, total: number): number {
  return total === 0 ? 100 : Math.min(100, Math.floor((done / total) * 100));
}

function toTimeText(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  if (whole < 100) return `${whole} s`;
  return whole < 6000 ? `${Math.ceil(whole / 60)} min` : `${Math.ceil(whole / 3600)} h`;
}
