import stringWidth from "string-width";
import type { CommonFlags, ProgressMode } from "../flags.ts";
import type { Io } from "../io.ts";
import { toSizeText } from "./cells.ts";
import { sanitizeLine, toJson } from "./sanitize.ts";
import { cutEnd, cutStart } from "./width.ts";

/**
 * The progress of transfers on standard error: bars on a terminal, events for scripts that request them, otherwise
 * nothing.
 */
export type Progress = ReturnType<typeof createProgress>;

export interface Transfer {
  /** Sets the total of transferred bytes. Calls are cheap: drawing is throttled. */
  update(bytes: number): void;
  /** Ends the transfer and removes its bar. */
  end(outcome: "done" | "failed"): void;
}

/** At most ten frames a second, so that a slow terminal does not slow down the transfers. */
const frameMs = 100;
/** Terminals write `^C` after the drawn text; it must not begin a new line. */
const echoWidth = 2;
/** Maximum number of bars; further transfers are only counted. */
const barsMax = 8;

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
) {
  const mode = toMode(io, flags, isMachine, dumb);
  const underWay = new Set<Running>();
  const begunAt = clock();
  let begun = 0;
  let endedBytes = 0;
  let drawnAt = -Infinity;
  let waitsUntil = -Infinity;
  const expected = { files: 0, bytes: 0, isWhole: false };

  const event = (payload: object) => io.warn(toJson(payload));
  const eventOf = (kind: string, { name, done, total }: Running) =>
    event({ event: kind, item: name, bytes: done, total: total ?? null });

  return {
    /**
     * Begins a transfer; several may run concurrently. `total` is in bytes, undefined when unknown. `from` is the
     * number of bytes that an earlier transfer completed.
     */
    begin(name: string, total: number | undefined, from: number = 0): Transfer {
      const one: Running = {
        name,
        total,
        from,
        startedAt: clock(),
        done: from,
        notifiedAt: -Infinity,
      };
      underWay.add(one);
      begun += 1;
      return {
        update(bytes) {
          one.done = bytes;
          if (mode === "bar") draw();
          if (mode !== "json" || clock() - one.notifiedAt < frameMs) return;
          one.notifiedAt = clock();
          eventOf("progress", one);
        },
        end(outcome) {
          underWay.delete(one);
          endedBytes += one.done - from;
          if (mode === "json") eventOf(outcome, one);
          if (mode !== "bar") return;
          // With several files the lines stay between two of them, to avoid flicker.
          if (begun === 1) io.draw("");
          else draw();
        },
      };
    },
    /** A file was found that will be transferred; its size is null when unknown. For the totals and the time left. */
    expect(bytes: number | null) {
      expected.files += 1;
      expected.bytes += bytes ?? 0;
    },
    /** One of the expected files was skipped. */
    leaveOut(bytes: number | null) {
      expected.files -= 1;
      expected.bytes -= bytes ?? 0;
    },
    /** All files have been found. */
    expectNoMore() {
      expected.isWhole = true;
      const { files, bytes } = expected;
      if (mode === "json" && files > 0) event({ event: "total", files, bytes });
    },
    /** Declares that no further transfers will start, so the total line of several disappears. */
    finish() {
      if (mode === "bar" && begun > 1) io.draw("");
    },
    /** The transfer pauses for this long, because the server throttles requests. */
    waiting(seconds: number) {
      waitsUntil = clock() + seconds * 1000;
      if (mode === "json") event({ event: "waiting", seconds });
      else if (!isMachine) io.note(`Rate limited by the server; waiting ${seconds} s.`);
    },
  };

  function draw(): void {
    const now = clock();
    if (now - drawnAt < frameMs) return;
    drawnAt = now;
    const columns = io.columns - echoWidth;
    const bars = [...underWay]
      .slice(0, Math.max(1, Math.min(barsMax, io.rows - 2)))
      .map(({ startedAt, ...one }) => toBar({ ...one, ms: now - startedAt, columns }));
    io.draw((begun > 1 ? [...bars, toSumLine(now)] : bars).join("\n"), stringWidth);
  }

  /** `12 of 300 done  45.0 MiB/1.1 GiB  8.1 MiB/s  130 s left`; `12 of 300+ done, 4 under way` until all have been found. */
  function toSumLine(now: number): string {
    const bytes = [...underWay].reduce((sum, { done, from }) => sum + done - from, endedBytes);
    const ms = now - begunAt;
    const { files, bytes: total, isWhole } = expected;
    const rate = ms < 300 ? 0 : (bytes * 1000) / ms;
    const isKnown = isWhole && total >= bytes;
    const of = files === 0 ? "" : ` of ${files}${isWhole ? "" : "+"}`;
    const parts = [
      `${begun - underWay.size}${of} done${isKnown ? "" : `, ${underWay.size} under way`}`,
      isKnown ? `${toSizeText(bytes)}/${toSizeText(total)}` : toSizeText(bytes),
      ms < 300 ? "" : `${toSizeText(Math.round(rate))}/s`,
      isKnown && rate > 0 ? `${toTimeText((total - bytes) / rate)} left` : "",
      now < waitsUntil ? `waiting ${toTimeText((waitsUntil - now) / 1000)}` : "",
    ];
    return cutEnd(parts.filter((part) => part !== "").join("  "), io.columns - 1 - echoWidth);
  }
}

interface Running {
  readonly name: string;
  readonly total: number | undefined;
  readonly from: number;
  readonly startedAt: number;
  done: number;
  notifiedAt: number;
}

function toMode(io: Io, flags: CommonFlags, isMachine: boolean, dumb: boolean): ProgressMode {
  if (flags.progress !== undefined) return flags.progress;
  return flags.quiet || isMachine || dumb || !io.isErrorTerminal ? "none" : "bar";
}

interface BarInput {
  readonly name: string;
  readonly done: number;
  readonly total: number | undefined;
  /** Done before the time began. */
  readonly from?: number;
  readonly ms: number;
  readonly columns: number;
}

/** `report.pdf  [=====>    ]  45%  12.0 MiB/26.7 MiB  8.1 MiB/s  2 s left`, never as wide as the terminal. */
export function toBar({ name, done, total, from = 0, ms, columns }: BarInput): string {
  const rate = ms < 300 ? 0 : ((done - from) * 1000) / ms;
  const parts = [
    total === undefined ? toSizeText(done) : `${toSizeText(done)}/${toSizeText(total)}`,
    rate === 0 ? "" : `${toSizeText(Math.round(rate))}/s`,
    rate === 0 || total === undefined ? "" : `${toTimeText((total - done) / rate)} left`,
  ].filter((part) => part !== "");
  if (total !== undefined) parts.unshift(`${String(percentOf(done, total)).padStart(3)}%`);
  const tail = parts.join("  ");
  const room = columns - 1 - stringWidth(tail) - 2;
  // The last part of a path is the most useful.
  const cut = name.includes("/") ? cutStart : cutEnd;
  const title = cut(sanitizeLine(name), Math.max(0, Math.min(30, room)));
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
