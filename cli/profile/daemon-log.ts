import { type FileHandle, open, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { escapeJson } from "../output/sanitize.ts";
import type { OutputStream } from "../system.ts";
import { makePrivateFolder } from "./private-files.ts";

/** The destinations of the daemon's log lines. */
export type DaemonLog = Awaited<ReturnType<typeof openDaemonLog>>;

/** Rotate the log beyond this size; one older log is kept. */
const largestLog = 16 * 1024 * 1024;
/** Maximum characters of lines that wait for a slow disk; later lines are dropped and counted. */
const waitingCharactersMax = 16 * 1024 * 1024;

/** The file that `croft daemon logs` reads. */
export function daemonLogPath(stateDirectory: string): string {
  return join(stateDirectory, "daemon.log");
}

/** The log before the last rotation. */
export function olderLogPath(path: string): string {
  return `${path}.1`;
}

/**
 * Opens the log file and standard error for the daemon's lines. The file has one format, a JSON object a line, whatever a
 * terminal shows. A failure of the file ends nothing: it is reported on standard error, later lines are tried again, and the
 * first line that is written afterwards tells how many were lost. A file that was removed or renamed by another program is
 * created again.
 */
export async function openDaemonLog(
  stateDirectory: string,
  stderr: OutputStream,
  clock: () => number,
) {
  const path = daemonLogPath(stateDirectory);
  const file = createLogFile(path);
  let waiting: string[] = [];
  let waitingCharacters = 0;
  let lost = 0;
  let hasFailed = false;
  let flushing: Promise<void> | undefined;

  const write = (line: string) => {
    if (waitingCharacters + line.length > waitingCharactersMax) {
      lost += 1;
      return;
    }
    waiting.push(line);
    waitingCharacters += line.length;
    flushing ??= flush();
  };

  /** Writes the waiting lines until there are none. Never rejects. */
  const flush = async () => {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      waitingCharacters = 0;
      await append(lines);
    }
    flushing = undefined;
  };

  const append = async (lines: readonly string[]) => {
    const missing = lost;
    try {
      await file.append([...(missing > 0 ? [toLossLine(missing)] : []), ...lines].join(""));
      lost -= missing;
      hasFailed = false;
    } catch (error) {
      lost += lines.length;
      if (!hasFailed) report(error);
      hasFailed = true;
    }
  };

  const report = (error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    stderr.write(`The log cannot be written to ${path}: ${reason}\n`);
  };

  /** The line break ends a line of which a full disk took only the beginning. */
  const toLossLine = (lines: number) => {
    const time = new Date(clock()).toISOString();
    return `\n${JSON.stringify({ level: "warn", time, lines, message: "log lines were lost" })}\n`;
  };

  await file.append("").catch((error: unknown) => {
    hasFailed = true;
    report(error);
  });
  return {
    /** Standard error, for lines in the format of `log_format`. */
    // Log fields hold names from clients, and the log is read on terminals.
    screen: {
      write: (line: string) => stderr.write(escapeJson(line)),
      isTTY: stderr.isTTY === true,
    },
    /** The log file, for lines of JSON. Neither throws nor waits. */
    records: { write: (line: string) => write(escapeJson(line)) },
    /** Writes out the waiting lines. Never rejects. */
    async close() {
      await flushing;
      await file.close();
    },
  };
}

/** The file of the log, which is opened when it is needed. */
function createLogFile(path: string) {
  let file: FileHandle | undefined;

  const close = async () => {
    const closing = file;
    file = undefined;
    // A write that failed has been reported.
    await closing?.close().catch(() => undefined);
  };

  /** Returns the file at the path. */
  const reopen = async (): Promise<FileHandle> => {
    const found = await stat(path).catch(ignoreMissing);
    const own = await file?.stat();
    const isLarge = found !== undefined && found.size > largestLog;
    if (file !== undefined && !isLarge && own?.ino === found?.ino && own?.dev === found?.dev)
      return file;
    await close();
    if (isLarge) await rename(path, olderLogPath(path)).catch(ignoreMissing);
    await makePrivateFolder(join(path, ".."));
    return (file = await open(path, "a", 0o600));
  };

  return {
    /** Appends a text, and rotates a large file first. Rejects with the system's error; the next call opens the file again. */
    async append(text: string) {
      try {
        const current = await reopen();
        if (text !== "") await current.appendFile(text);
      } catch (error) {
        await close();
        throw error;
      }
    },
    /** Never rejects: everything is written. */
    close,
  };
}

/** Returns undefined for a missing file and rethrows other errors. */
function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
