import { createWriteStream, type WriteStream } from "node:fs";
import { rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { escapeJson } from "../output/sanitize.ts";
import type { OutputStream } from "../system.ts";
import { makePrivateFolder } from "./private-files.ts";

/** The destinations of the daemon's log lines. */
export interface DaemonLog {
  /** Standard error, for lines in the format of `log_format`. */
  readonly screen: { write(line: string): unknown; readonly isTTY: boolean };
  /** The log file, for lines of JSON. */
  readonly records: Writable;
  /** Writes out the buffered lines. */
  close(): Promise<void>;
}

/** Rotate the log beyond this size; one older log is kept. */
const largestLog = 16 * 1024 * 1024;

/** The file that `croft daemon logs` reads. */
export function daemonLogPath(stateDirectory: string): string {
  return join(stateDirectory, "daemon.log");
}

/** The log before the last rotation. */
export function olderLogPath(path: string): string {
  return `${path}.1`;
}

/**
 * Opens the log file and standard error for the daemon's lines. The file has one format, a JSON object a line,
 * whatever a terminal shows. If the file is not writable, only standard error is used.
 */
export async function openDaemonLog(
  stateDirectory: string,
  stderr: OutputStream,
): Promise<DaemonLog> {
  const path = daemonLogPath(stateDirectory);
  let file = await openFile(path, stderr);
  let size = file === undefined ? 0 : await sizeOf(path);
  const records = new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      const line = escapeJson(String(chunk));
      size += line.length;
      file?.write(line);
      if (size < largestLog || file === undefined) return done();
      file.end();
      size = 0;
      rotate(path, stderr).then((next) => {
        file = next;
        done();
      }, done);
    },
  });
  return {
    // Log fields hold names from clients, and the log is read on terminals.
    screen: { write: (line) => stderr.write(escapeJson(line)), isTTY: stderr.isTTY === true },
    records,
    close: () =>
      new Promise((resolve) => {
        records.end(() => (file === undefined ? resolve() : file.end(() => resolve())));
      }),
  };
}

async function rotate(path: string, stderr: OutputStream): Promise<WriteStream | undefined> {
  await rename(path, olderLogPath(path));
  return openFile(path, stderr);
}

async function openFile(path: string, stderr: OutputStream): Promise<WriteStream | undefined> {
  try {
    await makePrivateFolder(join(path, ".."));
    if ((await sizeOf(path)) > largestLog) await rename(path, olderLogPath(path));
    const file = createWriteStream(path, { flags: "a", mode: 0o600 });
    await new Promise<void>((resolve, reject) => {
      file.once("open", () => resolve());
      file.once("error", reject);
    });
    // A full disk loses log lines, but does not stop the daemon.
    file.on("error", () => undefined);
    return file;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    stderr.write(`The log cannot be written to ${path}: ${reason}\n`);
    return undefined;
  }
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined);
  return found?.size ?? 0;
}
