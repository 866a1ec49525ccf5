import type { CliContext } from "../context.ts";
import { forge } from "../client/operations.ts";
import { CliError, DryRun, usageError } from "../errors.ts";
import { toJson } from "../output/sanitize.ts";
import { type JsonSchema, shape } from "../output/spec.ts";
import type { RunnerState } from "../runner/runner-state.ts";
import { createIfAbsent, ifAbsentFlag } from "../support/if-absent.ts";
import { readSecret } from "../support/secrets.ts";
import { toRunnerLevel, runnerLevelFlags } from "../support/action-level.ts";
import { commandDetails } from "../tree/command.ts";

const texts: JsonSchema = { type: "array", items: { type: "string" } };

export const register = commandDetails({
  flags: {
    ...runnerLevelFlags,
    ...ifAbsentFlag,
    "--token-stdin": "read the registration token from standard input",
    "--name <name>": "the runner's name; by default that of this machine",
    "--labels <labels>": "such as host:host,ubuntu-latest:docker://node:22",
    "--allow <repositories...>": "run only jobs of these: OWNER/NAME, OWNER, or * (default)",
    "--ephemeral": "run one job only",
  },
  calls: [
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
  examples: [
    [
      "Register a runner for jobs in containers",
      "croft runner register --labels ubuntu-latest:docker://node:22",
    ],
    [
      "Register a runner for one repository",
      "croft runner register --allow keeper/notes --token-stdin < token.txt",
    ],
    ["In a script that may run again", "croft runner register --if-absent --jq .id"],
  ],
  /** Registers a runner and keeps its credential in a file of mode 0600. */
  async run(cli, options) {
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
  },
});

const toShown = ({ id, name, url, labels, allow, ephemeral }: RunnerState) => ({
  id,
  name,
  url,
  labels,
  allow,
  ephemeral,
});

export const runRunnerCommand = commandDetails({
  flags: {
    "--allow <repositories...>": "from now on run only jobs of these repositories",
    "--capacity <jobs>": { help: "maximum number of concurrent jobs", default: "1" },
    "--finish-within <seconds>": {
      help: "how long running jobs may continue after a stop signal",
      default: "10",
    },
  },
  output: shape({ event: "string", message: "string" }),
  examples: [
    ["Run jobs until Ctrl-C", "croft runner run"],
    ["Run two jobs at a time", "croft runner run --capacity 2"],
  ],
  /** Runs jobs in the foreground until a stop signal. */
  async run(cli, options) {
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
  },
});

const CAPACITY_MAX = 256;

const SECONDS_MAX = 24 * 3_600;

const toStackText = (error: unknown) =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/**
 * Returns a function that prints a line about the runner: as JSON on standard output for scripts, else on standard
 * error.
 */
function toNote(cli: CliContext): (message: string) => void {
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
