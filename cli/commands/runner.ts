import type { WireRunner } from "../../daemon/contract/forge/actions/shapes.ts";
import { forge } from "../client/operations.ts";
import { usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import {
  type ActionLevel,
  type LevelFlags,
  toRunnerLevel,
  runnerLevelFlags,
} from "../support/action-level.ts";
import {
  deleteRunner as removeRunner,
  getRegistrationToken,
  getRunner,
  runnerPages,
  switchRunner,
} from "../support/runner-calls.ts";
import type { Entry } from "../tree/entry.ts";
import { register, runRunnerCommand } from "./runner-run.ts";
import { command, commandDetails } from "../tree/command.ts";

/** Commands for administrators to manage runners of any machine: `croft runner …`, and `croft admin runner …` as well. */
export const adminEntries: readonly Entry[] = [
  command("list", "List runners", {
    aliases: ["ls"],
    flags: runnerLevelFlags,
    calls: [
      forge.listRunners,
      forge.listRepositoryRunners,
      forge.listOrganizationRunners,
      forge.listOwnRunners,
    ],
    output: listOf(forge.listRunners, "runners"),
    examples: [
      ["List the runners of the server", "croft admin runner list"],
      [
        "Print those that are offline",
        "croft admin runner list --jq '.[] | select(.status == \"offline\") | .name'",
      ],
      ["List runners", "croft runner list"],
      [
        "Print those that are online",
        "croft runner list --jq '.[] | select(.status == \"online\") | .name'",
      ],
    ],
    /** Prints the runners of a level; without one all runners of the server. */
    async run(cli, flags) {
      const level = toRunnerLevel(flags);
      await cli.output.list(runnerPages(cli.client, level), columns);
    },
  }),
  command("view", "Show a runner", {
    args: { "<id>": "the runner's id" },
    flags: runnerLevelFlags,
    calls: [
      forge.getRunner,
      forge.getRepositoryRunner,
      forge.getOrganizationRunner,
      forge.getOwnRunner,
    ],
    output: resourceOf(forge.getRunner),
    examples: [
      ["Show a runner", "croft admin runner view 5"],
      ["Print its labels", "croft admin runner view 5 --jq '.labels[].name'"],
      ["Show a runner", "croft runner view 5"],
      ["Print its labels", "croft runner view 5 --jq '.labels[].name'"],
    ],
    async run(cli, { id: word, ...flags }) {
      const { level, id } = toNamed(word, flags);
      const { body } = await getRunner(cli.client, level, id);
      await cli.output.resource(body, columns);
    },
  }),
  command("token", "Print the token that runners register with", {
    flags: { ...runnerLevelFlags, "--renew": "invalidate the current token and create a new one" },
    calls: [
      forge.createRegistrationToken,
      forge.getRepositoryRegistrationToken,
      forge.getOrganizationRegistrationToken,
      forge.getOwnRegistrationToken,
    ],
    output: shape({ token: "string" }),
    examples: [
      ["Print the registration token of the server", "croft admin runner token"],
      ["Invalidate it and print a new one", "croft admin runner token --renew"],
      ["Print the token of the instance", "croft runner token"],
      ["Make a new token for one repository", "croft runner token --repo keeper/notes --renew"],
    ],
    /** Prints the registration token of a level. */
    async run(cli, { renew = false, ...flags }) {
      const level = toRunnerLevel(flags);
      const token = await getRegistrationToken(cli.client, level, renew);
      await cli.output.done({ token }, token);
    },
  }),
  command("enable", "Enable a runner", async () => toSwitch(false)),
  command("disable", "Disable a runner", async () => toSwitch(true)),
  command("delete", "Delete a runner", {
    args: { "<id>": "the runner's id" },
    flags: runnerLevelFlags,
    calls: [
      forge.deleteRunner,
      forge.deleteRepositoryRunner,
      forge.deleteOrganizationRunner,
      forge.deleteOwnRunner,
    ],
    output: shape({ runner: "integer" }),
    destructive: true,
    examples: [
      ["Delete a runner", "croft admin runner delete 5 --yes"],
      ["Show the request only", "croft admin runner delete 5 --dry-run"],
      ["Delete a runner", "croft runner delete 5 --yes"],
      ["Show the request only", "croft runner delete 5 --dry-run"],
    ],
    /** Deletes a runner; its running jobs fail. */
    async run(cli, { id: word, ...flags }) {
      const { level, id } = toNamed(word, flags);
      await cli.prompts.confirm(`Delete runner ${id}? Its running jobs fail.`);
      await removeRunner(cli.client, level, id);
      await cli.output.done({ runner: id }, `Deleted runner ${id}.`);
    },
  }),
];

export const entries: readonly Entry[] = [
  command("register", "Register a runner on this machine", async () => register),
  command("run", "Run jobs in the foreground", async () => runRunnerCommand),
  ...adminEntries,
];

const columns: readonly Column<WireRunner>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "status", cell: ({ status, busy }) => (busy ? "active" : status) },
  { header: "disabled", cell: ({ disabled }) => disabled },
  { header: "labels", cell: ({ labels }) => labels.map(({ name }) => name).join(",") },
];

/** Enables or disables a runner. A disabled runner gets no jobs. */
function toSwitch(disabled: boolean) {
  return commandDetails({
    args: { "<id>": "the runner's id" },
    flags: runnerLevelFlags,
    calls: [
      forge.editRunner,
      forge.editRepositoryRunner,
      forge.editOrganizationRunner,
      forge.editOwnRunner,
    ],
    output: resourceOf(forge.editRunner),
    examples: [
      ["Enable a runner", "croft admin runner enable 5"],
      ["Show the request only", "croft admin runner enable 5 --dry-run"],
      ["Let a runner take no more jobs", "croft admin runner disable 5"],
      ["Show the request only", "croft admin runner disable 5 --dry-run"],
      ["Enable a runner", "croft runner enable 5"],
      ["Show the request only", "croft runner enable 5 --dry-run"],
      ["Disable a runner; its current job continues", "croft runner disable 5"],
      ["Show the request only", "croft runner disable 5 --dry-run"],
    ],
    async run(cli, { id: word, ...flags }) {
      const { level, id } = toNamed(word, flags);
      const { body } = await switchRunner(cli.client, level, { id, disabled });
      await cli.output.resource(body, columns);
    },
  });
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
