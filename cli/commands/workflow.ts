import type { WireWorkflow } from "../../daemon/contract/forge/actions/workflows.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { listOf, shape } from "../output/spec.ts";
import { type RepositoryName, toRepositoryName } from "../support/repository.ts";
import { addWaitFlags, assertWaitFlags, type WaitFlags } from "../support/wait.ts";
import { toGoodConclusion, waitForRun } from "../support/runs.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the workflows of a repository", () => listWorkflows, { aliases: ["ls"] }),
  verb("run", "Start a workflow", () => runWorkflow),
  verb("enable", "Enable a workflow", () => enableWorkflow),
  verb("disable", "Disable a workflow", () => disableWorkflow),
];

const repositoryArgument = ["<repository>", "the repository as OWNER/NAME"] as const;
const fileArgument = ["<workflow>", "the name of its file, such as ci.yml"] as const;

const columns: readonly Column<WireWorkflow>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "path", cell: ({ path }) => path },
  { header: "state", cell: ({ state }) => state },
];

export const listWorkflows = {
  operations: [forge.listWorkflows],
  output: listOf(forge.listWorkflows, "workflows"),
  define(command, cli, run = runList): void {
    command
      .argument(...repositoryArgument)
      .action((repository: string) => run(cli, toRepositoryName(repository)));
  },
} satisfies CommandModule;

/** Prints the workflow files of the default branch. */
async function runList(cli: CliContext, params: RepositoryName): Promise<void> {
  const { body } = await cli.client.call(forge.listWorkflows, { params });
  await cli.output.list(wholeList(body.workflows), columns);
}

export interface WorkflowName extends RepositoryName {
  readonly file: string;
}

export interface WorkflowRunOptions extends WorkflowName, WaitFlags {
  /** A branch or tag; undefined for the default branch. */
  readonly ref?: string;
  readonly inputs: Readonly<Record<string, string>>;
}

export const runWorkflow = {
  operations: [forge.getRepository, forge.dispatchWorkflow, forge.getRun],
  output: shape({ run: "integer", conclusion: "string?" }),
  define(command, cli, run = runDispatch): void {
    addWaitFlags(command, "wait for the end of the run, and fail when it fails")
      .argument(...repositoryArgument)
      .argument(...fileArgument)
      .option("--ref <name>", "the branch or tag; without it the default branch")
      .option("--input <name=value...>", "an input of the workflow; may be repeated")
      .action((repository: string, file: string, { input = [], ...flags }: WorkflowRunFlags) => {
        assertWaitFlags(flags);
        return run(cli, {
          ...toRepositoryName(repository),
          file,
          ...flags,
          inputs: toInputs(input),
        });
      });
  },
} satisfies CommandModule;

interface WorkflowRunFlags extends WaitFlags {
  readonly ref?: string;
  readonly input?: readonly string[];
}

/**
 * Starts a workflow that has the event `workflow_dispatch`, and prints the id of its run. With `--wait` it prints the run
 * at its end, with the conclusion. @throws CliError `task_failed` when the run fails, `not_finished` after the timeout
 */
async function runDispatch(cli: CliContext, options: WorkflowRunOptions): Promise<void> {
  const { owner, repo, file, inputs } = options;
  const ref = options.ref ?? (await readDefaultBranch(cli, { owner, repo }));
  const { body } = await cli.client.call(forge.dispatchWorkflow, {
    params: { owner, repo, workflow_id: file },
    query: { return_run_details: true },
    body: { ref, inputs },
  });
  const run = body?.workflow_run_id ?? 0;
  const started = `Started ${file} as ${owner}/${repo}/${run}.`;
  if (options.wait !== true) return cli.output.done({ run, conclusion: null }, started);
  if (!cli.output.isMachine) cli.io.note(started);
  const name = { owner, repo, id: run };
  const conclusion = toGoodConclusion(name, await waitForRun(cli, name, options.timeout));
  await cli.output.done({ run, conclusion }, `Run ${run} ended as ${conclusion}.`);
}

async function readDefaultBranch(cli: CliContext, params: RepositoryName): Promise<string> {
  const { body } = await cli.client.call(forge.getRepository, { params });
  return body.default_branch;
}

function toInputs(inputs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    inputs.map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw usageError(`--input takes NAME=VALUE, not ${JSON.stringify(text)}`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

export const enableWorkflow = toSwitch(forge.enableWorkflow, "Enabled");
export const disableWorkflow = toSwitch(forge.disableWorkflow, "Disabled");

/** A command that enables or disables a workflow. A disabled one starts no runs. */
function toSwitch(
  operation: typeof forge.enableWorkflow | typeof forge.disableWorkflow,
  done: string,
) {
  const runSwitch = async (cli: CliContext, { owner, repo, file }: WorkflowName): Promise<void> => {
    await cli.client.call(operation as typeof forge.enableWorkflow, {
      params: { owner, repo, workflow_id: file },
    });
    await cli.output.done({ workflow: file }, `${done} ${file}.`);
  };
  return {
    operations: [operation],
    output: shape({ workflow: "string" }),
    define(command, cli, run = runSwitch): void {
      command
        .argument(...repositoryArgument)
        .argument(...fileArgument)
        .action((repository: string, file: string) =>
          run(cli, { ...toRepositoryName(repository), file }),
        );
    },
  } satisfies CommandModule;
}
