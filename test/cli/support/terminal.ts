import { Writable } from "node:stream";
import xterm from "@xterm/headless";
import { run } from "../../../cli/main.ts";
import type { StopSignal } from "../../../cli/system.ts";
import { type FakeSystemOptions, fakeSystem, openInput } from "./run-cli.ts";

/** A terminal without a window: tests read its output as a screen and press keys. */
export interface FakeTerminal {
  /** The rows as text, without blanks at their ends. */
  rows(): readonly string[];
  screen(): string;
  /** Everything that was written, with its sequences. */
  written(): string;
  /** Presses keys once `shown` is on the screen, or once the function accepts the screen. */
  press(keys: string, shown?: Shown): Promise<void>;
  /** Waits until it is on the screen. */
  sees(shown: Shown): Promise<void>;
  resize(columns: number, rows: number): void;
  /** Whether the program has the other screen. */
  isAlternate(): boolean;
  /** Sends the program a signal. */
  signal(signal: StopSignal): void;
}

type Shown = string | RegExp | ((screen: string) => boolean);

export const keys = {
  up: "\u001b[A",
  down: "\u001b[B",
  right: "\u001b[C",
  left: "\u001b[D",
  pageUp: "\u001b[5~",
  pageDown: "\u001b[6~",
  home: "\u001b[H",
  end: "\u001b[F",
  delete: "\u001b[3~",
  enter: "\r",
  escape: "\u001b",
  backspace: "\u007f",
  tab: "\t",
  interrupt: "\u0003",
  refresh: "\u0012",
  clear: "\u0015",
} as const;

export interface InTerminal extends Omit<FakeSystemOptions, "stdin" | "stdout" | "terminal"> {
  readonly columns?: number;
  readonly rows?: number;
}

/** How long something may take to appear; far longer than it takes, for machines that do other things. */
const patienceMs = 45_000;

/** Runs a line in a terminal while `use` reads the screen and presses keys; resolves when the line has ended. */
export async function runInTerminal(
  words: readonly string[],
  options: InTerminal,
  use: (terminal: FakeTerminal) => Promise<void>,
): Promise<{ readonly code: number; readonly err: string; readonly terminal: FakeTerminal }> {
  const { columns = 80, rows = 24 } = options;
  const emulator = new xterm.Terminal({
    cols: columns,
    rows,
    allowProposedApi: true,
    scrollback: 0,
  });
  let written = "";
  const stdout = Object.assign(
    new Writable({
      write(chunk: Buffer | string, _encoding, done) {
        written += String(chunk);
        emulator.write(String(chunk).replaceAll("\n", "\r\n"), done);
      },
    }),
    { columns, rows },
  );
  const stdin = openInput();
  const system = fakeSystem({ ...options, stdin, stdout, terminal: true });
  let ended: number | undefined;
  const running = run(words, system).then((code) => (ended = code));

  const readRows = () => {
    const { active } = emulator.buffer;
    return Array.from({ length: emulator.rows }, (_, row) =>
      (active.getLine(active.baseY + row)?.translateToString(true) ?? "").trimEnd(),
    );
  };
  const terminal: FakeTerminal = {
    rows: readRows,
    screen: () => readRows().join("\n").trimEnd(),
    written: () => written,
    async sees(shown) {
      const deadline = Date.now() + patienceMs;
      while (!isShown(shown, terminal.screen())) {
        if (ended !== undefined || Date.now() > deadline)
          throw new Error(
            `${String(shown)} did not appear (${ended === undefined ? "still running" : `ended with ${ended}: ${system.written.err()}`}):\n${terminal.screen()}`,
          );
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    async press(text, shown) {
      if (shown !== undefined) await terminal.sees(shown);
      stdin.write(text);
    },
    resize(width, height) {
      if (width > 0) emulator.resize(width, height);
      Object.assign(stdout, { columns: width, rows: height });
      stdout.emit("resize");
    },
    signal: (signal) => system.stops.send(signal),
    isAlternate: () => emulator.buffer.active.type === "alternate",
  };
  try {
    await use(terminal);
  } catch (error) {
    // Leave the program in any state, so that no test waits for it.
    stdin.write(keys.interrupt);
    await running;
    throw error;
  }
  const code = await running;
  return { code, err: system.written.err(), terminal };
}

function isShown(shown: Shown, screen: string): boolean {
  if (typeof shown === "string") return screen.includes(shown);
  return shown instanceof RegExp ? shown.test(screen) : shown(screen);
}
