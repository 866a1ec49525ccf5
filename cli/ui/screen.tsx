import { Box, render, Text, useApp, useInput, usePaste } from "ink";
import { useEffect, useReducer } from "react";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { OutputStream } from "../system.ts";
import { type Key, toKeys } from "./keys.ts";

/** The terminal in cells. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** The content and behaviour of a screen, independent of the terminal. */
export interface ScreenModel {
  /**
   * Returns the lines for a terminal of this size: at most one less than its rows, each at most as wide as its columns.
   */
  draw(size: Size): readonly string[];
  press(key: Key): void;
  /** Calls `listener` whenever the lines may have changed; returns the function that unsubscribes. */
  subscribe(listener: () => void): () => void;
  /** Resolves when the user has left; rejects with the error that ends the command. */
  readonly left: Promise<void>;
}

/** A character in the last column would wrap in some terminals, and text may be wider than calculated. */
const wrapOff = "\u001b[?7l";
const wrapOn = "\u001b[?7h";

/**
 * Longest wait for the first data. Ink draws two frames at least 100 ms apart, so an empty first frame would delay the one
 * that people wait for.
 */
const firstLoadMaxMs = 150;

/**
 * Shows a screen in the terminal's alternate buffer until the user leaves, then always restores the terminal. The first
 * frame waits for `firstLoad` for a moment. @throws CliError `interrupted` on Ctrl-C, and the error of `left`
 */
export async function showScreen(
  cli: CliContext,
  model: ScreenModel,
  firstLoad: Promise<void>,
): Promise<void> {
  await waitAtMost(firstLoadMaxMs, firstLoad, cli);
  const { stdin, stdout } = cli.system;
  const suspend = () => {
    stdout.write(wrapOn);
    cli.system.suspend();
    stdout.write(wrapOff);
  };
  const screen = render(<Screen model={model} stdout={stdout} suspend={suspend} />, {
    stdin: stdin as NodeJS.ReadStream,
    stdout: stdout as NodeJS.WriteStream,
    // The caller has checked the terminals, and nothing here writes to the console.
    interactive: true,
    alternateScreen: true,
    incrementalRendering: true,
    patchConsole: false,
    exitOnCtrlC: false,
    maxFps: 10,
  });
  stdout.write(wrapOff);
  const stopped = new Promise<never>((_, reject) => {
    const stop = () => reject(cli.signal.reason as Error);
    if (cli.signal.aborted) stop();
    else cli.signal.addEventListener("abort", stop, { once: true });
  });
  stopped.catch(() => undefined);
  try {
    // A screen that cannot be drawn ends by itself, with the reason.
    const broken = screen.waitUntilExit();
    await Promise.race([model.left, stopped, broken]);
  } finally {
    screen.unmount();
    await screen.waitUntilExit().catch(() => undefined);
    stdout.write(wrapOn);
  }
}

/** Resolves when `load` or the time has ended, and rejects when a stop signal arrives. */
async function waitAtMost(
  milliseconds: number,
  load: Promise<void>,
  { system, signal }: CliContext,
): Promise<void> {
  const loaded = new AbortController();
  try {
    await Promise.race([
      load,
      system.sleep(milliseconds, AbortSignal.any([signal, loaded.signal])),
    ]);
  } finally {
    loaded.abort();
  }
}

interface ScreenProps {
  readonly model: ScreenModel;
  readonly stdout: OutputStream;
  readonly suspend: () => void;
}

function Screen({ model, stdout, suspend }: ScreenProps) {
  const { exit, suspendTerminal } = useApp();
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => model.subscribe(redraw), [model]);
  useEffect(() => {
    stdout.on("resize", redraw);
    return () => {
      stdout.off("resize", redraw);
    };
  }, [stdout]);
  usePaste((text) => model.press({ kind: "paste", text }));
  useInput((input, key) => {
    for (const one of toKeys(input, key)) {
      if (one.kind === "key" && one.name === "interrupt")
        exit(new CliError("interrupted", "interrupted"));
      else if (one.kind === "key" && one.name === "suspend")
        // Ink gives the terminal back to the shell meanwhile, and draws everything again.
        suspendTerminal(async () => suspend()).catch(exit);
      else model.press(one);
    }
  });
  // A terminal that does not know its size reports 0.
  const size = { columns: stdout.columns || 80, rows: stdout.rows || 24 };
  return (
    <Box flexDirection="column">
      {model.draw(size).map((line, index) => (
        <Text key={index} wrap="truncate">
          {line === "" ? " " : line}
        </Text>
      ))}
    </Box>
  );
}
