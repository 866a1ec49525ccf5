import type { WireRunner } from "../../daemon/contract/forge/actions/shapes.ts";
import { forge } from "../client/operations.ts";
import { forgeFieldPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { toRepositoryName } from "../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";
import { register, runRunnerCommand } from "./runner-run.ts";

export const entries: readonly Entry[] = [
  verb("register", "Register a runner on this machine", () => register),
  verb("run", "Run jobs in the foreground", () => runRunnerCommand),
  verb("list", "List runners", () => listRunners, { aliases: ["ls"] }),
  verb("view", "Show a runner", () => viewRunner),
  verb("token", "Print the token that runners register with", () => printToken),
  verb("enable", "Enable a runner", () => enableRunner),
  verb("disable", "Disable a runner", () => disableRunner),
  verb("delete", "Delete a runner", () => deleteRunner),
];

const columns: readonly Column<WireRunner>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "status", cell: ({ status, busy }) => (busy ? "active" : status) },
  { header: "disabled", cell: ({ disabled }) => disabled },
  { header: "labels", cell: ({ labels }) => labels.map(({ name }) => name).join(",") },
];

export const listRunners = {
  operations: [forge.listRunners],
  output: listOf(forge.listRunners, "runners"),
  define(command, cli, run = runList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints all runners of the instance. */
async function runList(cli: CliContext): Promise<void> {
  await cli.output.list(forgeFieldPages(cli.client, forge.listRunners, {}, "runners"), columns);
}

export const viewRunner = {
  operations: [forge.getRunner],
  output: resourceOf(forge.getRunner),
  define(command, cli, run = runView): void {
    command.argument("<id>", "the runner's id").action((given: string) => run(cli, toId(given)));
  },
} satisfies CommandModule;

/** Prints one runner. */
async function runView(cli: CliContext, id: number): Promise<void> {
  const { body } = await cli.client.call(forge.getRunner, { params: { runner_id: id } });
  await cli.output.resource(body, columns);
}

interface TokenOptions {
  readonly repo?: string;
  readonly renew?: boolean;
}

export const printToken = {
  operations: [forge.createRegistrationToken, forge.getRepositoryRegistrationToken],
  output: shape({ token: "string" }),
  define(command, cli, run = runToken): void {
    command
      .option("--repo <repository>", "of this repository, OWNER/NAME; of the instance when absent")
      .option("--renew", "invalidate the token before it")
      .action((options: TokenOptions) => run(cli, options));
  },
} satisfies CommandModule;

/** Prints the registration token of the instance or of a repository. */
async function runToken(cli: CliContext, { repo, renew = false }: TokenOptions): Promise<void> {
  const query = { renew };
  const { body } =
    repo === undefined
      ? await cli.client.call(forge.createRegistrationToken, { query })
      : await cli.client.call(forge.getRepositoryRegistrationToken, {
          params: toRepositoryName(repo),
          query,
        });
  await cli.output.done({ token: body.token }, body.token);
}

export const enableRunner = toSwitch(false);
export const disableRunner = toSwitch(true);

/** A command that enables or disables a runner. A disabled runner gets no jobs. */
function toSwitch(disabled: boolean) {
  return {
    operations: [forge.editRunner],
    output: resourceOf(forge.editRunner),
    define(command, cli, run = runSwitch): void {
      command
        .argument("<id>", "the runner's id")
        .action((given: string) => run(cli, { id: toId(given), disabled }));
    },
  } satisfies CommandModule;
}

async function runSwitch(
  cli: CliContext,
  { id, disabled }: { readonly id: number; readonly disabled: boolean },
): Promise<void> {
  const { body } = await cli.client.call(forge.editRunner, {
    params: { runner_id: id },
    body: { disabled },
  });
  await cli.output.resource(body, columns);
}

export const deleteRunner = {
  operations: [forge.deleteRunner],
  output: shape({ runner: "integer" }),
  destructive: true,
  define(command, cli, run = runDelete): void {
    command.argument("<id>", "the runner's id").action((given: string) => run(cli, toId(given)));
  },
} satisfies CommandModule;

/** Deletes a runner. What it was running fails. */
async function runDelete(cli: CliContext, id: number): Promise<void> {
  await cli.prompts.confirm(`Delete runner ${id}? What it is running fails.`);
  await cli.client.call(forge.deleteRunner, { params: { runner_id: id } });
  await cli.output.done({ runner: id }, `Deleted runner ${id}.`);
}

function toId(given: string): number {
  const id = Number(given);
  if (Number.isSafeInteger(id) && id > 0) return id;
  throw usageError(`a runner is named by its id, not ${JSON.stringify(given)}`);
}
