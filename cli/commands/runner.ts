import type { WireRunner } from "../../daemon/contract/forge/actions/shapes.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import {
  type ActionLevel,
  type LevelFlags,
  toRunnerLevel,
  withRunnerLevel,
} from "../support/action-level.ts";
import {
  deleteRunner as removeRunner,
  getRegistrationToken,
  getRunner,
  runnerPages,
  switchRunner,
} from "../support/runner-calls.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";
import { register, runRunnerCommand } from "./runner-run.ts";

/** Commands for administrators to manage runners of any machine: `croft runner …`, and `croft admin runner …` as well. */
export const adminEntries: readonly Entry[] = [
  verb("list", "List runners", () => listRunners, { aliases: ["ls"] }),
  verb("view", "Show a runner", () => viewRunner),
  verb("token", "Print the token that runners register with", () => printToken),
  verb("enable", "Enable a runner", () => enableRunner),
  verb("disable", "Disable a runner", () => disableRunner),
  verb("delete", "Delete a runner", () => deleteRunner),
];

export const entries: readonly Entry[] = [
  verb("register", "Register a runner on this machine", () => register),
  verb("run", "Run jobs in the foreground", () => runRunnerCommand),
  ...adminEntries,
];

const columns: readonly Column<WireRunner>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "status", cell: ({ status, busy }) => (busy ? "active" : status) },
  { header: "disabled", cell: ({ disabled }) => disabled },
  { header: "labels", cell: ({ labels }) => labels.map(({ name }) => name).join(",") },
];

export const listRunners = {
  operations: [
    forge.listRunners,
    forge.listRepositoryRunners,
    forge.listOrganizationRunners,
    forge.listOwnRunners,
  ],
  output: listOf(forge.listRunners, "runners"),
  define(command, cli, run = runList): void {
    withRunnerLevel(command).action((flags: LevelFlags) => run(cli, toRunnerLevel(flags)));
  },
} satisfies CommandModule;

/** Prints the runners of a level; without one all runners of the server. */
async function runList(cli: CliContext, level: ActionLevel): Promise<void> {
  await cli.output.list(runnerPages(cli.client, level), columns);
}

export const viewRunner = {
  operations: [
    forge.getRunner,
    forge.getRepositoryRunner,
    forge.getOrganizationRunner,
    forge.getOwnRunner,
  ],
  output: resourceOf(forge.getRunner),
  define(command, cli, run = runView): void {
    withRunnerLevel(command)
      .argument("<id>", "the runner's id")
      .action((id: string, flags: LevelFlags) => run(cli, toNamed(id, flags)));
  },
} satisfies CommandModule;

async function runView(cli: CliContext, { level, id }: RunnerName): Promise<void> {
  const { body } = await getRunner(cli.client, level, id);
  await cli.output.resource(body, columns);
}

interface TokenOptions {
  readonly level: ActionLevel;
  readonly renew: boolean;
}

export const printToken = {
  operations: [
    forge.createRegistrationToken,
    forge.getRepositoryRegistrationToken,
    forge.getOrganizationRegistrationToken,
    forge.getOwnRegistrationToken,
  ],
  output: shape({ token: "string" }),
  define(command, cli, run = runToken): void {
    withRunnerLevel(command)
      .option("--renew", "invalidate the current token and create a new one")
      .action(({ renew = false, ...flags }: LevelFlags & { readonly renew?: boolean }) =>
        run(cli, { level: toRunnerLevel(flags), renew }),
      );
  },
} satisfies CommandModule;

/** Prints the registration token of a level. */
async function runToken(cli: CliContext, { level, renew }: TokenOptions): Promise<void> {
  const token = await getRegistrationToken(cli.client, level, renew);
  await cli.output.done({ token }, token);
}

export const enableRunner = toSwitch(false);
export const disableRunner = toSwitch(true);

/** A command that enables or disables a runner. A disabled runner gets no jobs. */
function toSwitch(disabled: boolean) {
  return {
    operations: [
      forge.editRunner,
      forge.editRepositoryRunner,
      forge.editOrganizationRunner,
      forge.editOwnRunner,
    ],
    output: resourceOf(forge.editRunner),
    define(command, cli, run = runSwitch): void {
      withRunnerLevel(command)
        .argument("<id>", "the runner's id")
        .action((id: string, flags: LevelFlags) => run(cli, { ...toNamed(id, flags), disabled }));
    },
  } satisfies CommandModule;
}

async function runSwitch(
  cli: CliContext,
  { level, ...change }: RunnerName & { readonly disabled: boolean },
): Promise<void> {
  const { body } = await switchRunner(cli.client, level, change);
  await cli.output.resource(body, columns);
}

export const deleteRunner = {
  operations: [
    forge.deleteRunner,
    forge.deleteRepositoryRunner,
    forge.deleteOrganizationRunner,
    forge.deleteOwnRunner,
  ],
  output: shape({ runner: "integer" }),
  destructive: true,
  define(command, cli, run = runDelete): void {
    withRunnerLevel(command)
      .argument("<id>", "the runner's id")
      .action((id: string, flags: LevelFlags) => run(cli, toNamed(id, flags)));
  },
} satisfies CommandModule;

/** Deletes a runner; its running jobs fail. */
async function runDelete(cli: CliContext, { level, id }: RunnerName): Promise<void> {
  await cli.prompts.confirm(`Delete runner ${id}? Its running jobs fail.`);
  await removeRunner(cli.client, level, id);
  await cli.output.done({ runner: id }, `Deleted runner ${id}.`);
}

interface RunnerName {
  readonly level: ActionLevel;
  readonly id: number;
}

function toNamed(text: string, flags: LevelFlags): RunnerName {
  const id = Number(text);
  if (Number.isSafeInteger(id) && id > 0) return { level: toRunnerLevel(flags), id };
  throw usageError(`a runner is named by its id, not ${JSON.stringify(text)}`);
}
