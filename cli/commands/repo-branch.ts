import type { WireBranch } from "../../daemon/contract/forge/code/branches.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import { type Column, time } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { createIfAbsent, ifAbsentFlag } from "../support/if-absent.ts";
import { repositoryArgument } from "../support/repository.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

const branchArgument = { "<branch>": "the branch" } as const;

export const entries: readonly Entry[] = [
  command("list", "List the branches of a repository", {
    aliases: ["ls"],
    args: repositoryArgument,
    flags: { "--search <text>": "only branches whose names contain it" },
    calls: [forge.listBranches],
    output: listOf(forge.listBranches),
    examples: [
      ["List the branches", "croft repo branch list keeper/notes"],
      [
        "Print the names of all branches",
        "croft repo branch list keeper/notes --all --jq '.[].name'",
      ],
    ],
    /** Prints the branches, the one with the newest commit first. */
    async run(cli, { repository, search }) {
      const { owner, repo, text } = {
        ...repository,
        ...(search === undefined ? {} : { text: search }),
      };

      const input = { params: { owner, repo }, query: { q: text } };
      await cli.output.list(forgePages(cli.client, forge.listBranches, input), branchColumns);
    },
  }),
  command("view", "Show a branch", {
    args: { ...repositoryArgument, ...branchArgument },
    calls: [forge.getBranch],
    output: resourceOf(forge.getBranch),
    examples: [
      ["Show a branch", "croft repo branch view keeper/notes main"],
      ["Print its latest commit", "croft repo branch view keeper/notes main --jq .commit.id"],
    ],
    async run(cli, { repository: { owner, repo }, branch }) {
      const { body } = await cli.client.call(forge.getBranch, { params: { owner, repo, branch } });
      await cli.output.resource(body, branchColumns);
    },
  }),
  command("create", "Create a branch", {
    args: { ...repositoryArgument, "<branch>": "the new branch" },
    flags: {
      ...ifAbsentFlag,
      "--from <ref>": "a branch, tag or commit; the default branch if it is not given",
    },
    calls: [forge.createBranch, forge.getBranch],
    output: resourceOf(forge.createBranch, 201),
    examples: [
      ["Create a branch from the default branch", "croft repo branch create keeper/notes feature"],
      ["Create a branch from a tag", "croft repo branch create keeper/notes hotfix --from v1.0"],
      [
        "In a script that may run again",
        "croft repo branch create keeper/notes feature --if-absent",
      ],
    ],
    /**
     * Creates a branch and prints it. An existing branch may have new commits, so `--if-absent` does not compare `--from`.
     */
    async run(cli, { repository, ...flags }) {
      const options = { ...repository, ...flags };
      const { owner, repo, branch, from } = options;
      const params = { owner, repo };
      const { value } = await createIfAbsent<WireBranch>(cli, {
        ifAbsent: options.ifAbsent,
        title: `the branch ${branch} of ${owner}/${repo}`,
        find: async () =>
          (await cli.client.call(forge.getBranch, { params: { ...params, branch } })).body,
        create: async () => {
          const body = { new_branch_name: branch, old_ref_name: from };
          return (await cli.client.call(forge.createBranch, { params, body })).body;
        },
      });
      await cli.output.resource(value, branchColumns);
    },
  }),
  command("rename", "Rename a branch", {
    args: { ...repositoryArgument, ...branchArgument, "<new-name>": "the new name" },
    calls: [forge.renameBranch],
    output: shape({ renamed: "boolean", branch: "string" }),
    examples: [
      ["Rename a branch", "croft repo branch rename keeper/notes feature topic"],
      ["Show the request only", "croft repo branch rename keeper/notes feature topic --dry-run"],
    ],
    async run(cli, { repository: { owner, repo }, branch, newName }) {
      await cli.client.call(forge.renameBranch, {
        params: { owner, repo, branch },
        body: { name: newName },
      });
      await cli.output.done({ renamed: true, branch: newName }, `${branch} is ${newName} now.`);
    },
  }),
  command("delete", "Delete a branch", {
    aliases: ["rm"],
    args: { ...repositoryArgument, ...branchArgument },
    calls: [forge.deleteBranch],
    output: shape({ deleted: "boolean", branch: "string" }),
    destructive: true,
    examples: [
      ["Delete a branch", "croft repo branch delete keeper/notes feature --yes"],
      ["Show the request only", "croft repo branch delete keeper/notes feature --dry-run"],
    ],
    async run(cli, { repository: { owner, repo }, branch }) {
      await cli.prompts.confirm(`Delete the branch ${branch} of ${owner}/${repo}?`);
      await cli.client.call(forge.deleteBranch, { params: { owner, repo, branch } });
      await cli.output.done({ deleted: true, branch }, `Deleted the branch ${branch}.`);
    },
  }),
];

const branchColumns: readonly Column<WireBranch>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "commit", cell: ({ commit }) => commit.id.slice(0, 10) },
  { header: "protected", cell: ({ protected: isProtected }) => isProtected },
  { header: "updated", cell: ({ commit }) => time(commit.timestamp) },
  { header: "message", cell: ({ commit }) => commit.message.split("\n")[0] },
];
