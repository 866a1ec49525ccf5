import { createWriteStream, type WriteStream } from "node:fs";
import { rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { escapeJson } from "../output/sanitize.ts";
import type { OutputStream } from "../system.ts";
import { makePrivateFolder } from "./make-private-folder.ts";

/** The destination of the daemon's log lines. */
export interface DaemonLog {
  readonly stream: OutputStream;
  /** Writes out what is waiting. */
  close(): Promise<void>;
}

/** Rotate the log beyond this size; one older log is kept. */
const largestLog = 16 * 1024 * 1024;

/** The file that `croft daemon logs` reads. */
export function daemonLogPath(stateDirectory: string): string {
  return join(stateDirectory, "daemon.log");
}

/**
 * A stream that passes lines on to standard error and to the log file. The daemon sees standard error's terminal, so
 * that its lines are pretty there; colours are left out of the file. Without a file that can be written there is
 * standard error alone.
 */
export async function openDaemonLog(
  stateDirectory: string,
  stderr: OutputStream,
): Promise<DaemonLog> {
  const path = daemonLogPath(stateDirectory);
  let file = await openFile(path, stderr);
  let size = file === undefined ? 0 : await sizeOf(path);
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      // Log fields hold names from clients, and the log is read on terminals.
      const text = escapeJson(String(chunk));
      stderr.write(text);
      // oxlint-disable-next-line no-control-regex -- colours are what is removed
      const line = text.replace(/\u001b\[[\d;]*m/g, "");
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
    stream: Object.assign(stream, { isTTY: stderr.isTTY === true }),
    close: () =>
      new Promise((resolve) => {
        stream.end(() => (file === undefined ? resolve() : file.end(() => resolve())));
      }),
  };
}

async function rotate(path: string, stderr: OutputStream): Promise<WriteStream | undefined> {
  await rename(path, `${path}.1`);
  return openFile(path, stderr);
}

async function openFile(path: string, stderr: OutputStream): Promise<WriteStream | undefined> {
  try {
    await makePrivateFolder(join(path, ".."));
    if ((await sizeOf(path)) > largestLog) await rename(path, `${path}.1`);
    const file = createWriteStream(path, { flags: "a", mode: 0o600 });
    await new Promise<void>((resolve, reject) => {
      file.once("open", () => resolve());
      file.once("error", reject);
    });
    // A disk that fills up later costs log lines, not the daemon.
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
