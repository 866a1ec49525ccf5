import type { Command } from "commander";
import { clientHeaders } from "../../client/client.ts";
import { addressOf, findTarget, type Target } from "../../client/target.ts";
import { createTransport } from "../../client/transport.ts";
import { createTrust } from "../../client/trust.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";

export const operations = [] as const;
export const output = shape({ ready: "boolean", url: "string" });

/** What the command was given. */
export interface DaemonWaitOptions {
  readonly timeoutSeconds: number;
}

export function define(command: Command, cli: CliContext, run = runDaemonWait): void {
  command
    .option("--timeout <seconds>", "how long to wait", toSeconds, 30)
    .action(({ timeout }: { readonly timeout: number }) => run(cli, { timeoutSeconds: timeout }));
}

const pollMs = 100;

/**
 * Waits until the daemon accepts requests. The address is found anew each time, since a daemon that starts tells late.
 * @throws CliError `daemon_unreachable` when nothing answered in time, `not_finished` when it was not ready yet
 */
async function runDaemonWait(
  cli: CliContext,
  { timeoutSeconds }: DaemonWaitOptions,
): Promise<void> {
  const send = createTransport(cli.system, () => createTrust(cli)());
  const deadline = cli.clock() + timeoutSeconds * 1000;
  for (;;) {
    const target = await findTarget(cli);
    const { url } = target;
    const status = await ask(target).catch((error: unknown) => {
      if (error instanceof CliError && error.code === "daemon_unreachable") return error;
      throw error;
    });
    if (status === 200)
      return cli.output.done({ ready: true, url }, `The daemon at ${url} accepts requests.`);
    if (cli.clock() > deadline) {
      if (status instanceof CliError) throw status;
      throw new CliError("not_finished", `the daemon at ${url} is not ready yet`);
    }
    await cli.system.sleep(pollMs, cli.signal);
  }

  async function ask(target: Target): Promise<number> {
    const { status } = await send({
      method: "GET",
      url: `${addressOf(target)}/readyz`,
      headers: clientHeaders,
      body: undefined,
      signal: cli.signal,
    });
    return status;
  }
}

/** A whole number of seconds. */
export function toSeconds(given: string): number {
  if (!/^\d{1,6}$/.test(given))
    throw usageError(`--timeout takes whole seconds, not ${JSON.stringify(given)}`);
  return Number(given);
}
