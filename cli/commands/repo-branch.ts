import type { WireBranch } from "../../daemon/contract/forge/code/branches.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { type Column, time } from "../output/cells.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../support/if-absent.ts";
import {
  repositoryArgument,
  type RepositoryName,
  toRepositoryName,
} from "../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the branches of a repository", () => listAll, { aliases: ["ls"] }),
  verb("view", "Show a branch", () => viewOne),
  verb("create", "Create a branch", () => createOne),
  verb("rename", "Rename a branch", () => renameOne),
  verb("delete", "Delete a branch", () => deleteOne, { aliases: ["rm"] }),
];

const branchColumns: readonly Column<WireBranch>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "commit", cell: ({ commit }) => commit.id.slice(0, 10) },
  { header: "protected", cell: ({ protected: isProtected }) => isProtected },
  { header: "updated", cell: ({ commit }) => time(commit.timestamp) },
  { header: "message", cell: ({ commit }) => commit.message.split("\n")[0] },
];

interface ListOptions extends RepositoryName {
  readonly text?: string;
}

const listAll = {
  operations: [forge.listBranches],
  output: listOf(forge.listBranches),
  define(command, cli, run = runList): void {
    command
      .argument(...repositoryArgument)
      .option("--search <text>", "only branches whose names contain it")
      .action((repository: string, { search }: { search?: string }) =>
        run(cli, {
          ...toRepositoryName(repository),
          ...(search === undefined ? {} : { text: search }),
        }),
      );
  },
} satisfies CommandModule;

/** Prints the branches, the one with the newest commit first. */
async function runList(cli: CliContext, { owner, repo, text }: ListOptions): Promise<void> {
  const input = { params: { owner, repo }, query: { q: text } };
  await cli.output.list(forgePages(cli.client, forge.listBranches, input), branchColumns);
}

interface BranchOptions extends RepositoryName {
  readonly branch: string;
}

const branchArgument = ["<branch>", "the branch"] as const;

const viewOne = {
  operations: [forge.getBranch],
  output: resourceOf(forge.getBranch),
  define(command, cli, run = runView): void {
    command
      .argument(...repositoryArgument)
      .argument(...branchArgument)
      .action((repository: string, branch: string) =>
        run(cli, { ...toRepositoryName(repository), branch }),
      );
  },
} satisfies CommandModule;

async function runView(cli: CliContext, { owner, repo, branch }: BranchOptions): Promise<void> {
  const { body } = await cli.client.call(forge.getBranch, { params: { owner, repo, branch } });
  await cli.output.resource(body, branchColumns);
}

export interface BranchCreateOptions extends BranchOptions, IfAbsentFlag {
  readonly from?: string;
}

export const createOne = {
  operations: [forge.createBranch, forge.getBranch],
  output: resourceOf(forge.createBranch, 201),
  define(command, cli, run = runCreate): void {
    addIfAbsentFlag(command)
      .argument(...repositoryArgument)
      .argument("<branch>", "the new branch")
      .option("--from <ref>", "a branch, tag or commit; the default branch if it is not given")
      .action((repository: string, branch: string, flags: { from?: string } & IfAbsentFlag) =>
        run(cli, { ...toRepositoryName(repository), branch, ...flags }),
      );
  },
} satisfies CommandModule;

/**
 * Creates a branch and prints it. An existing branch may have new commits, so `--if-absent` does not compare `--from`.
 */
async function runCreate(cli: CliContext, options: BranchCreateOptions): Promise<void> {
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
}

interface RenameOptions extends BranchOptions {
  readonly newName: string;
}

const renameOne = {
  operations: [forge.renameBranch],
  output: shape({ renamed: "boolean", branch: "string" }),
  define(command, cli, run = runRename): void {
    command
      .argument(...repositoryArgument)
      .argument(...branchArgument)
      .argument("<new-name>", "the new name")
      .action((repository: string, branch: string, newName: string) =>
        run(cli, { ...toRepositoryName(repository), branch, newName }),
      );
  },
} satisfies CommandModule;

async function runRename(
  cli: CliContext,
  { owner, repo, branch, newName }: RenameOptions,
): Promise<void> {
  await cli.client.call(forge.renameBranch, {
    params: { owner, repo, branch },
    body: { name: newName },
  });
  await cli.output.done({ renamed: true, branch: newName }, `${branch} is ${newName} now.`);
}

export const deleteOne = {
  operations: [forge.deleteBranch],
  output: shape({ deleted: "boolean", branch: "string" }),
  destructive: true,
  define(command, cli, run = runDelete): void {
    command
      .argument(...repositoryArgument)
      .argument(...branchArgument)
      .action((repository: string, branch: string) =>
        run(cli, { ...toRepositoryName(repository), branch }),
      );
  },
} satisfies CommandModule;

async function runDelete(cli: CliContext, { owner, repo, branch }: BranchOptions): Promise<void> {
  await cli.prompts.confirm(`Delete the branch ${branch} of ${owner}/${repo}?`);
  await cli.client.call(forge.deleteBranch, { params: { owner, repo, branch } });
  await cli.output.done({ deleted: true, branch }, `Deleted the branch ${branch}.`);
}
