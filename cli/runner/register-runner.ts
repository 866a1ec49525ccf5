import { hostname } from "node:os";
import { addressOf, type Target } from "../client/target.ts";
import { createTransport, createTrust } from "../client/transport.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import type { ActionLevel } from "../support/action-level.ts";
import { getRegistrationToken } from "../support/runner-calls.ts";
import { version } from "../version.ts";
import { findEngine } from "./places/engine.ts";
import { CAPABILITIES } from "./runner.ts";
import { createRunnerClient, RunnerRefused } from "./protocol-client.ts";
import {
  isAllowPattern,
  readRunnerState,
  type RunnerState,
  toStatePath,
  writeRunnerState,
  parseLabel,
} from "./runner-state.ts";

/** A runner to be registered. */
export interface NewRunner {
  /** The registration token; requested from the daemon by the signed-in user when absent. */
  readonly token: string | undefined;
  /** The scope for which that token is requested. */
  readonly level: ActionLevel;
  readonly name: string | undefined;
  /** Undefined for the usual ones of this machine. */
  readonly labels: readonly string[] | undefined;
  readonly allow: readonly string[];
  readonly isEphemeral: boolean;
}

/** Image for jobs of the label that most workflows name. */
const USUAL_IMAGE = "docker://node:22-bookworm";

/**
 * Registers a runner and stores it in this home, replacing an earlier one. @throws CliError `usage` for invalid
 * labels and patterns, `invalid` when the daemon refuses the token
 */
export async function registerRunner(cli: CliContext, options: NewRunner): Promise<RunnerState> {
  const { paths, url } = await cli.config();
  const labels = options.labels ?? (await toUsualLabels(cli));
  assertLabels(labels);
  const pattern = options.allow.find((each) => !isAllowPattern(each));
  if (pattern !== undefined)
    throw usageError(`--allow takes OWNER/NAME, OWNER or *, not ${JSON.stringify(pattern)}`);
  const target = await cli.client.target();
  const token = options.token ?? (await askForToken(cli, options.level));
  const name = options.name ?? hostname();
  const client = createRunnerClient({
    transport: createTransport(cli.system, createTrust(cli)),
    url: () => Promise.resolve(addressOf(target)),
    credentials: undefined,
  });
  const { runner } = await client
    .register(
      { name, token, labels: [...labels], version, ephemeral: options.isEphemeral },
      cli.signal,
    )
    .catch((error: unknown) => {
      if (!(error instanceof RunnerRefused)) throw error;
      throw new CliError("invalid", `the daemon refused the runner: ${error.message}`, {
        hint: '"croft runner token" prints the registration token',
      });
    });
  if (runner === undefined)
    throw new CliError("unexpected", "the daemon answered without a runner");
  const profile = await cli.profiles.inUse();
  const state: RunnerState = {
    url: isOwnDaemon(target, url ?? profile.url ?? undefined) ? null : target.url,
    id: Number(runner.id),
    uuid: runner.uuid,
    token: runner.token,
    name: runner.name,
    labels,
    ephemeral: options.isEphemeral,
    allow: options.allow,
  };
  await writeRunnerState(paths, state);
  cli.io.note(`The runner is kept in ${toStatePath(paths)}.`);
  return state;
}

/**
 * Returns the runner of this home, if the daemon still knows it. A runner of another daemon or for a single job does
 * not count.
 * @throws CliError when the daemon cannot be asked
 */
export async function findRegistered(cli: CliContext): Promise<RunnerState | undefined> {
  const { paths, url } = await cli.config();
  const state = readRunnerState(paths);
  if (state === undefined || state.ephemeral) return undefined;
  const target = await cli.client.target();
  const profile = await cli.profiles.inUse();
  const address = isOwnDaemon(target, url ?? profile.url ?? undefined) ? null : target.url;
  if (state.url !== address) return undefined;
  const client = createRunnerClient({
    transport: createTransport(cli.system, createTrust(cli)),
    url: () => Promise.resolve(addressOf(target)),
    credentials: state,
  });
  try {
    const names = state.labels.flatMap((label) => parseLabel(label)?.name ?? []);
    await client.declare({ version, labels: names, capabilities: CAPABILITIES }, cli.signal);
    return state;
  } catch (error) {
    if (error instanceof RunnerRefused && !error.isTemporary) return undefined;
    throw error;
  }
}

/** Whether the daemon is that of this home, found without a named address: it may listen elsewhere next time. */
function isOwnDaemon({ isLoopback }: Target, named: string | undefined): boolean {
  return isLoopback && named === undefined;
}

function assertLabels(labels: readonly string[]): void {
  const wrong = labels.find((each) => parseLabel(each) === undefined);
  if (labels.length === 0 || wrong !== undefined)
    throw usageError(
      `--labels takes NAME:host and NAME:docker://IMAGE, not ${JSON.stringify(wrong ?? "")}`,
    );
}

/** `host`; and where an engine responds, the label that most workflows name. */
async function toUsualLabels(cli: CliContext): Promise<readonly string[]> {
  const engine = await findEngine(cli.system.env);
  return ["host:host", ...(engine === undefined ? [] : [`ubuntu-latest:${USUAL_IMAGE}`])];
}

async function askForToken(cli: CliContext, level: ActionLevel): Promise<string> {
  try {
    return await getRegistrationToken(cli.client, level, false);
  } catch (error) {
    if (!(error instanceof CliError) || !["forbidden", "not_signed_in"].includes(error.code))
      throw error;
    throw new CliError(error.code, `cannot get a registration token: ${error.message}`, {
      hint:
        level.kind === "instance"
          ? "only administrators get the server's; use --user, --repo or --org, or --token-stdin"
          : "only owners get it; others give one with --token-stdin",
      cause: error,
    });
  }
}
