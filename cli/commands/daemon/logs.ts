import { type FileHandle, open } from "node:fs/promises";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { sanitizeText } from "../../output/sanitize.ts";
import { daemonLogPath } from "../../profile/daemon-log.ts";

export const operations = [] as const;
export const output = shape({
  path: "string",
  lines: { type: "array", items: { type: "string" } },
});

/** What the command was given. */
export interface DaemonLogsOptions {
  readonly lines: number;
  readonly follow: boolean;
}

export function define(command: Command, cli: CliContext, run = runDaemonLogs): void {
  command
    .option("-n, --lines <number>", "how many lines", toLines, 100)
    .option("-f, --follow", "go on with what is added")
    .action((flags: { readonly lines: number; readonly follow?: true }) =>
      run(cli, { lines: flags.lines, follow: flags.follow === true }),
    );
}

const pollMs = 200;
/** Enough for a thousand long lines, and no more than a person reads. */
const tailBytes = 1024 * 1024;

/** Prints the end of the log that `croft serve` keeps on this machine. */
async function runDaemonLogs(cli: CliContext, { lines, follow }: DaemonLogsOptions): Promise<void> {
  if (follow && cli.output.isMachine) throw usageError("--follow does not go with machine output");
  const path = daemonLogPath((await cli.config()).paths.stateDirectory);
  const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    throw new CliError("not_found", `there is no log at ${path}`, {
      hint: '"croft serve" writes it on the machine of the daemon',
    });
  });
  try {
    let { size: at } = await file.stat();
    const tail = await readText(file, Math.max(0, at - tailBytes), at);
    const all = tail.split("\n").slice(0, -1);
    const last = lines === 0 ? [] : all.slice(-lines);
    await cli.output.text(last.map((line) => `${line}\n`).join(""), { path, lines: last });
    while (follow) {
      await cli.system.sleep(pollMs, cli.signal);
      const { size } = await file.stat();
      if (size <= at) continue;
      await cli.io.write(sanitizeText(await readText(file, at, size)));
      at = size;
    }
  } finally {
    await file.close();
  }
}

async function readText(file: FileHandle, start: number, end: number): Promise<string> {
  if (end === start) return "";
  const { buffer } = await file.read({ buffer: Buffer.alloc(end - start), position: start });
  return buffer.toString("utf8");
}

function toLines(given: string): number {
  if (!/^\d{1,6}$/.test(given))
    throw usageError(`--lines takes a whole number, not ${JSON.stringify(given)}`);
  return Number(given);
}
