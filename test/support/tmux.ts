import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Whether this machine has tmux, the terminal that tests can drive. */
export const hasTmux = spawnSync("tmux", ["-V"]).status === 0;

/** A program in a real terminal of its own. `await using` ends both. */
export interface TmuxTerminal extends AsyncDisposable {
  /** Returns the screen row by row, without trailing blanks. */
  rows(): Promise<readonly string[]>;
  /** The screen with its colours as sequences. */
  painted(): Promise<string>;
  /**
   * Waits until two successive reads of the screen match and are equal, so that no row is half drawn, and returns its
   * rows.
   */
  sees(shown: string | RegExp): Promise<readonly string[]>;
  /** Waits, then presses keys by tmux's names (`Enter`, `Down`, `C-c`) or types a text. */
  press(shown: string | RegExp, ...keys: readonly string[]): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
}

export interface TmuxOptions {
  readonly columns: number;
  readonly rows: number;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A program that starts from its sources, on a machine that does other things. */
const patienceMs = 90_000;
const pollMs = 50;

/** Runs a shell command in a terminal of this size. The screen stays when it has ended. */
export async function openTmux(
  command: string,
  { columns, rows, cwd, env }: TmuxOptions,
): Promise<TmuxTerminal> {
  const folder = await mkdtemp(join(tmpdir(), "croft-tmux-"));
  // A separate server: sessions and settings of the user stay untouched.
  const tmux = async (...words: readonly string[]) => {
    const { stdout } = await execute("tmux", ["-S", join(folder, "socket"), "-u", ...words], {
      cwd,
      env: { PATH: process.env["PATH"], LC_ALL: "C.UTF-8", TERM: "xterm-256color", ...env },
    });
    return stdout;
  };
  const size = ["-x", String(columns), "-y", String(rows)];
  await tmux("-f", "/dev/null", "new-session", "-d", ...size, `${command}; exec cat`);
  await tmux("set-option", "-g", "status", "off");
  await tmux("resize-window", ...size);

  const read = async () =>
    (await tmux("capture-pane", "-p")).split("\n").map((row) => row.trimEnd());
  const terminal: TmuxTerminal = {
    rows: read,
    painted: () => tmux("capture-pane", "-p", "-e"),
    async sees(shown) {
      const givenUpAt = Date.now() + patienceMs;
      for (let before = ""; ;) {
        const found = await read();
        const screen = found.join("\n");
        const isShown = typeof shown === "string" ? screen.includes(shown) : shown.test(screen);
        if (isShown && screen === before) return found;
        before = screen;
        if (Date.now() > givenUpAt) throw new Error(`${String(shown)} did not appear:\n${screen}`);
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
    },
    async press(shown, ...keys) {
      await terminal.sees(shown);
      for (const key of keys) await tmux("send-keys", "--", key);
    },
    async resize(width, height) {
      await tmux("resize-window", "-x", String(width), "-y", String(height));
    },
    [Symbol.asyncDispose]: async () => {
      const pid = Number(await tmux("display-message", "-p", "#{pane_pid}").catch(() => "0"));
      await tmux("kill-server").catch(() => undefined);
      // tmux does not wait for the shell, which writes its history into a home that the test removes next.
      while (pid > 0 && isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, pollMs));
      await rm(folder, { recursive: true, force: true });
    },
  };
  return terminal;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
