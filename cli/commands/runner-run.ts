import type { CliContext } from "../context.ts";
import { forge } from "../client/operations.ts";
import { CliError, DryRun, usageError } from "../errors.ts";
import { toJson } from "../output/sanitize.ts";
import { type JsonSchema, shape } from "../output/spec.ts";
import type { RunnerState } from "../runner/runner-state.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../support/if-absent.ts";
import { readSecret } from "../support/secrets.ts";
import { type LevelFlags, toRunnerLevel, withRunnerLevel } from "../support/action-level.ts";
import type { CommandModule } from "../tree/entry.ts";

const texts: JsonSchema = { type: "array", items: { type: "string" } };

interface RegisterOptions extends LevelFlags, IfAbsentFlag {
  readonly tokenStdin?: boolean;
  readonly name?: string;
  /** Separated by commas. */
  readonly labels?: string;
  readonly allow?: readonly string[];
  readonly ephemeral?: boolean;
}

export const register = {
  operations: [
    forge.createRegistrationToken,
    forge.getRepositoryRegistrationToken,
    forge.getOrganizationRegistrationToken,
    forge.getOwnRegistrationToken,
  ],
  output: shape({
    id: "integer",
    name: "string",
    url: "string?",
    labels: texts,
    allow: texts,
    ephemeral: "boolean",
  }),
  writes: true,
  define(command, cli, run = runRegister): void {
    addIfAbsentFlag(withRunnerLevel(command))
      .option("--token-stdin", "read the registration token from standard input")
      .option("--name <name>", "the runner's name; by default that of this machine")
      .option("--labels <labels>", "such as host:host,ubuntu-latest:docker://node:22")
      .option(
        "--allow <repositories...>",
        "run only jobs of these: OWNER/NAME, OWNER, or * (default)",
      )
      .option("--ephemeral", "run one job only")
      .action((flags: RegisterOptions) => run(cli, flags));
  },
} satisfies CommandModule;

/** Registers a runner and keeps its credential in a file of mode 0600. */
async function runRegister(cli: CliContext, options: RegisterOptions): Promise<void> {
  const { name, tokenStdin = false, ephemeral = false } = options;
  const allow = options.allow ?? ["*"];
  const labels = options.labels?.split(",").map((each) => each.trim());
  const level = toRunnerLevel(options);
  if (tokenStdin && level.kind !== "instance")
    throw usageError("the token of --token-stdin determines the owner of the runner");
  if (cli.flags.dryRun) throw new DryRun({ register: { name, labels, allow, ephemeral } });
  const token = tokenStdin
    ? await readSecret(cli, { fromInput: true, question: "Token:", flag: "--token-stdin" })
    : undefined;
  const { findRegistered, registerRunner } = await import("../runner/register-runner.ts");
  const { value: state } = await createIfAbsent(cli, {
    ifAbsent: options.ifAbsent,
    title: "the runner of this machine",
    find: () => findRegistered(cli),
    create: () =>
      registerRunner(cli, { token, level, name, labels, allow, isEphemeral: ephemeral }),
    settings: (existing) => [
      { flag: "--name", requested: name, existing: existing.name },
      { flag: "--labels", requested: labels, existing: existing.labels },
      { flag: "--allow", requested: options.allow, existing: existing.allow },
      { flag: "--ephemeral", requested: options.ephemeral, existing: existing.ephemeral },
    ],
  });
  warnOfHostJobs(cli, state);
  await cli.output.resource(toShown(state), [
    { header: "id", cell: ({ id }) => id },
    { header: "name", cell: (runner) => runner.name },
    { header: "labels", cell: (runner) => runner.labels.join(",") },
    { header: "allow", cell: (runner) => runner.allow.join(",") },
  ]);
  cli.io.note('"croft runner run" starts it.');
}

const toShown = ({ id, name, url, labels, allow, ephemeral }: RunnerState) => ({
  id,
  name,
  url,
  labels,
  allow,
  ephemeral,
});

interface RunOptions {
  readonly allow?: readonly string[];
  readonly capacity: string;
  readonly finishWithin: string;
}

export const runRunnerCommand = {
  operations: [],
  output: shape({ event: "string", message: "string" }),
  define(command, cli, run = runRun): void {
    command
      .option("--allow <repositories...>", "from now on run only jobs of these repositories")
      .option("--capacity <jobs>", "maximum number of concurrent jobs", "1")
      .option(
        "--finish-within <seconds>",
        "how long running jobs may continue after a stop signal",
        "10",
      )
      .action((flags: RunOptions) => run(cli, flags));
  },
} satisfies CommandModule;

const CAPACITY_MAX = 256;
const SECONDS_MAX = 24 * 3_600;

/** Runs jobs in the foreground until a stop signal. */
async function runRun(cli: CliContext, options: RunOptions): Promise<void> {
  const capacity = toNumber("--capacity", options.capacity, 1, CAPACITY_MAX);
  const seconds = toNumber("--finish-within", options.finishWithin, 0, SECONDS_MAX);
  cli.holdStops();
  const { isAllowPattern, readRunnerState, writeRunnerState } =
    await import("../runner/runner-state.ts");
  const { paths } = await cli.config();
  let state = readRunnerState(paths);
  if (state === undefined)
    throw new CliError("not_found", "no runner is registered in this home", {
      hint: '"croft runner register" registers one',
    });
  if (options.allow !== undefined) {
    if (!options.allow.every(isAllowPattern))
      throw usageError("--allow takes OWNER/NAME, OWNER or *");
    state = { ...state, allow: options.allow };
    await writeRunnerState(paths, state);
  }
  // `--url` and CROFT_URL name another address of the daemon that the runner is registered with.
  const { url } = await cli.config();
  warnOfHostJobs(cli, state);
  const { openRunner } = await import("../runner/open-runner.ts");
  const unwatch = cli.system.onUnhandled((error) =>
    cli.io.warn(`The runner survived an error that no code handled: ${toStackText(error)}`),
  );
  try {
    await openRunner(cli, url === undefined ? state : { ...state, url }, {
      capacity,
      finishWithinMs: seconds * 1_000,
      signal: cli.signal,
      note: toNote(cli),
    });
  } finally {
    unwatch();
  }
}

const toStackText = (error: unknown) =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/**
 * Returns a function that prints a line about the runner: as JSON on standard output for scripts, else on standard
 * error.
 */
export function toNote(cli: CliContext): (message: string) => void {
  return (message) => {
    if (!cli.output.isMachine) return cli.io.note(message);
    // A closed pipe does not end the runner.
    cli.io.write(`${toJson({ event: "runner", message })}\n`).catch(() => undefined);
  };
}

/** Warns that jobs of a host label run with all rights of the runner's user. */
export function warnOfHostJobs(cli: CliContext, { labels, allow }: RunnerState): void {
  const onHost = labels.filter((label) => !label.includes(":docker://"));
  if (onHost.length === 0) return;
  const names = onHost.map((label) => label.split(":", 1).join()).join(", ");
  const whose = allow.includes("*") ? "every repository" : allow.join(", ");
  cli.io.warn(
    `Jobs with the labels ${names} run on this machine unconfined, as its user, for ${whose}.`,
  );
}

function toNumber(flag: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d{1,9}$/.test(text) && value >= least && value <= most) return value;
  throw usageError(`${flag} takes a number from ${least} to ${most}, not ${JSON.stringify(text)}`);
}
