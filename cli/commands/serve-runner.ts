import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, toCliError } from "../errors.ts";
import { warnOfHostJobs } from "./runner-run.ts";

/** Maximum number of jobs that run at a time beside the daemon. */
const CAPACITY = 2;
/** How long jobs may continue when the daemon stops. */
const FINISH_WITHIN_MS = 5_000;

/**
 * Runs the runner of this home for the daemon at `urls`, until the command is stopped. The first time it is registered for
 * the own repositories of the signed-in user. A failure is printed and does not end the daemon.
 */
export async function runServedRunner(cli: CliContext, urls: readonly string[]): Promise<void> {
  try {
    const { readRunnerState } = await import("../runner/runner-state.ts");
    const { paths } = await cli.config();
    const state = readRunnerState(paths) ?? (await register(cli, urls));
    if (state.url !== null && !urls.includes(state.url))
      throw new CliError("conflict", `the runner of this home is registered with ${state.url}`, {
        hint: '"croft runner run" runs it',
      });
    warnOfHostJobs(cli, state);
    const { openRunner } = await import("../runner/open-runner.ts");
    await openRunner(
      cli,
      { ...state, url: urls[0] ?? null },
      {
        capacity: CAPACITY,
        finishWithinMs: FINISH_WITHIN_MS,
        signal: cli.signal,
        note: cli.io.note,
      },
    );
  } catch (error) {
    const { message, details } = toCliError(error);
    cli.io.warn(`The runner does not run: ${message}${details.hint ? `; ${details.hint}` : ""}`);
  }
}

async function register(cli: CliContext, urls: readonly string[]) {
  const { url } = await cli.client.target();
  if (!urls.includes(url))
    throw new CliError("conflict", `commands of this home go to ${url}, not to its own daemon`, {
      hint: "use a profile without an address, and no --url or CROFT_URL",
    });
  const { body } = await cli.client.call(forge.getCurrentUser);
  const { registerRunner } = await import("../runner/register-runner.ts");
  return registerRunner(cli, {
    token: undefined,
    level: { kind: "user", params: {} },
    name: undefined,
    labels: undefined,
    allow: [body.login],
    isEphemeral: false,
  });
}
