import { forge } from "../client/operations.ts";
import { usageError } from "../errors.ts";
import { resourceOf } from "../output/spec.ts";
import { runGit } from "../support/git.ts";
import {
  repositoryArgument,
  repositoryColumns,
  repositoryLines,
  repositoryList,
} from "../support/repository.ts";
import { commandDetails } from "../tree/command.ts";
import { cloneRepository, toFolderName, toRemoteUrl } from "./repo-clone.ts";

export const forkRepo = commandDetails({
  args: repositoryArgument,
  flags: {
    "--org <organization>": "the organization that owns the fork; you by default",
    "--name <name>": "the name of the fork; by default that of the repository",
    "--fork-name <name>": { help: "the same as --name", hidden: true },
    "-c, --clone":
      "clone the fork into the current folder, with the repository as remote `upstream`",
    "--ssh": "use the address of SSH for the clone",
  },
  calls: [forge.createFork, forge.getRepository],
  output: resourceOf(forge.createFork, 202),
  examples: [
    ["Fork a repository into your account", "croft repo fork keeper/notes"],
    [
      "Fork it into an organization under another name",
      "croft repo fork keeper/notes --org acme --name minutes",
    ],
  ],
  /** Forks a repository and prints the fork; with `--clone` git shows its progress on standard error. */
  async run(cli, { repository: params, org, name, forkName, clone = false, ssh = false }) {
    if (name !== undefined && forkName !== undefined)
      throw usageError("--name and --fork-name exclude each other");
    if (ssh && !clone) throw usageError("--ssh needs --clone");
    const body = { organization: org, name: name ?? forkName };
    const { body: fork } = await cli.client.call(forge.createFork, { params, body });
    if (clone) {
      cli.io.note(`Created fork ${fork.full_name}.`);
      const target = toFolderName(fork);
      await cloneRepository(cli, fork, { target, ssh });
      const { body: parent } = await cli.client.call(forge.getRepository, { params });
      const url = await toRemoteUrl(cli, parent, ssh);
      await runGit(cli, ["-C", target, "remote", "add", "upstream", url]);
    }
    await cli.output.resource(fork, repositoryLines);
  },
});

export const listForks = repositoryList(forge.listForks, repositoryColumns, [
  ["List the forks of a repository", "croft repo forks keeper/notes"],
  ["Print their names", "croft repo forks keeper/notes --all --jq '.[].full_name'"],
]);

export const syncFork = commandDetails({
  args: repositoryArgument,
  flags: {
    "-b, --branch <name>": "the branch to update; by default the default branch",
    "--ff-only": "refuse to merge when both branches have commits of their own",
  },
  calls: [forge.syncFork],
  output: resourceOf(forge.syncFork),
  examples: [
    ["Update the default branch of a fork from its parent", "croft repo sync keeper/notes"],
    [
      "Update another branch, without a merge",
      "croft repo sync keeper/notes --branch next --ff-only",
    ],
  ],
  /** Updates a branch on the server, and prints how. */
  async run(cli, { repository: params, branch, ffOnly }) {
    const body = { branch, ff_only: ffOnly };
    const { body: synced } = await cli.client.call(forge.syncFork, { params, body });
    await cli.output.resource(synced, [
      { header: "merge type", cell: ({ merge_type: type }) => type },
    ]);
  },
});
