import type { Command } from "commander";
import { findDaemonNotice, isAlive } from "../../client/target.ts";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { toSeconds } from "./wait.ts";

export const operations = [] as const;
export const output = shape({ stopped: "boolean", pid: "integer?", data: "string" });
export const writes = true;

/** What the command was given. */
export interface DaemonStopOptions {
  readonly timeoutSeconds: number;
}

export function define(command: Command, cli: CliContext, run = runDaemonStop): void {
  command
    .option("--timeout <seconds>", "how long to wait for its end", toSeconds, 60)
    .action(({ timeout }: { readonly timeout: number }) => run(cli, { timeoutSeconds: timeout }));
}

const pollMs = 50;

/**
 * Asks the daemon of this home to stop and waits until its process has ended. When none runs there is nothing to do.
 * @throws CliError `not_finished` when it has not ended in time
 */
async function runDaemonStop(
  cli: CliContext,
  { timeoutSeconds }: DaemonStopOptions,
): Promise<void> {
  const { dataDirectory: data } = (await cli.config()).paths;
  const notice = findDaemonNotice(data, cli.system);
  if (notice === undefined)
    return cli.output.done({ stopped: false, pid: null, data }, `No daemon runs on ${data}.`);
  const { pid } = notice;
  if (cli.flags.dryRun) throw new DryRun({ stop: { pid, data } });
  cli.system.stopProcess(pid);
  const deadline = cli.clock() + timeoutSeconds * 1000;
  while (isAlive(notice, cli.system)) {
    if (cli.clock() > deadline)
      throw new CliError("not_finished", `process ${pid} has not ended within ${timeoutSeconds} s`);
    await cli.system.sleep(pollMs, cli.signal);
  }
  await cli.output.done({ stopped: true, pid, data }, `Stopped the daemon (process ${pid}).`);
}
