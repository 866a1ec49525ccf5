import type { WireWorkflow } from "../../daemon/contract/forge/actions/workflows.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { listOf, shape } from "../output/spec.ts";
import { type RepositoryName, repositoryArgument } from "../support/repository.ts";
import { assertWaitFlags, waitFlags } from "../support/wait.ts";
import { toGoodConclusion, waitForRun } from "../support/runs.ts";
import type { Entry } from "../tree/entry.ts";
import { command, commandDetails } from "../tree/command.ts";

const fileArgument = { "<workflow>": "the name of its file, such as ci.yml" } as const;

export const entries: readonly Entry[] = [
  command("list", "List the workflows of a repository", {
    aliases: ["ls"],
    args: repositoryArgument,
    calls: [forge.listWorkflows],
    output: listOf(forge.listWorkflows, "workflows"),
    examples: [
      ["List the workflows", "croft workflow list keeper/notes"],
      [
        "Print name and state",
        "croft workflow list keeper/notes --template '{{.name}} {{.state}}'",
      ],
    ],
    /** Prints the workflow files of the default branch. */
    async run(cli, { repository: params }) {
      const { body } = await cli.client.call(forge.listWorkflows, { params });
      await cli.output.list(wholeList(body.workflows), columns);
    },
  }),
  command("run", "Start a workflow", {
    args: { ...repositoryArgument, ...fileArgument },
    flags: {
      ...waitFlags("wait for the end of the run, and fail when it fails"),
      "--ref <name>": "the branch or tag; without it the default branch",
      "--input <name=value...>": "an input of the workflow; may be repeated",
    },
    calls: [forge.getRepository, forge.dispatchWorkflow, forge.getRun],
    output: shape({ run: "integer", conclusion: "string?" }),
    examples: [
      ["Start a workflow on the default branch", "croft workflow run keeper/notes ci.yml"],
      [
        "Start it with inputs",
        "croft workflow run keeper/notes deploy.yml --ref v1.0 --input stage=production",
      ],
      [
        "Wait for its end, and fail when it fails",
        "croft workflow run keeper/notes ci.yml --ref main --wait --timeout 30m",
      ],
    ],
    /**
     * Starts a workflow that has the event `workflow_dispatch`, and prints the id of its run. With `--wait` it prints the run
     * at its end, with the conclusion. @throws CliError `task_failed` when the run fails, `not_finished` after the timeout
     */
    async run(cli, { repository: { owner, repo }, workflow: file, input = [], ...options }) {
      assertWaitFlags(options);
      const inputs = toInputs(input);
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
    },
  }),
  command("enable", "Enable a workflow", async () => toSwitch(forge.enableWorkflow, "Enabled")),
  command("disable", "Disable a workflow", async () => toSwitch(forge.disableWorkflow, "Disabled")),
];

const columns: readonly Column<WireWorkflow>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "path", cell: ({ path }) => path },
  { header: "state", cell: ({ state }) => state },
];

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

/** Enables or disables a workflow. A disabled one starts no runs. */
function toSwitch(
  operation: typeof forge.enableWorkflow | typeof forge.disableWorkflow,
  done: string,
) {
  return commandDetails({
    args: { ...repositoryArgument, ...fileArgument },
    calls: [operation],
    output: shape({ workflow: "string" }),
    examples: [
      ["Enable a workflow", "croft workflow enable keeper/notes ci.yml"],
      ["Show the request only", "croft workflow enable keeper/notes ci.yml --dry-run"],
      ["Disable a workflow", "croft workflow disable keeper/notes ci.yml"],
      ["Show the request only", "croft workflow disable keeper/notes ci.yml --dry-run"],
    ],
    async run(cli, { repository, workflow: file }) {
      await cli.client.call(operation as typeof forge.enableWorkflow, {
        params: { ...repository, workflow_id: file },
      });
      await cli.output.done({ workflow: file }, `${done} ${file}.`);
    },
  });
}
