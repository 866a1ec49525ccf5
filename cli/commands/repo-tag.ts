import type { WireTag } from "../../daemon/contract/forge/code/tags.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { type Column, time } from "../output/cells.ts";
import { resourceOf, shape } from "../output/spec.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../support/if-absent.ts";
import {
  repositoryArgument,
  type RepositoryName,
  toRepositoryName,
  createRepositoryList,
} from "../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the tags of a repository", () => listAll, { aliases: ["ls"] }),
  verb("view", "Show a tag", () => viewOne),
  verb("create", "Create a tag", () => createOne),
  verb("delete", "Delete a tag", () => deleteOne, { aliases: ["rm"] }),
];

const tagColumns: readonly Column<WireTag>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "commit", cell: ({ commit }) => commit.sha.slice(0, 10) },
  { header: "created", cell: ({ commit }) => time(commit.created) },
  { header: "message", cell: ({ message }) => message.split("\n")[0] },
];

/** The tags, newest first. */
const listAll = createRepositoryList(forge.listTags, tagColumns);

interface TagOptions extends RepositoryName {
  readonly tag: string;
}

const tagArgument = ["<tag>", "the tag"] as const;

const viewOne = {
  operations: [forge.getTag],
  output: resourceOf(forge.getTag),
  define(command, cli, run = runView): void {
    command
      .argument(...repositoryArgument)
      .argument(...tagArgument)
      .action((repository: string, tag: string) =>
        run(cli, { ...toRepositoryName(repository), tag }),
      );
  },
} satisfies CommandModule;

async function runView(cli: CliContext, { owner, repo, tag }: TagOptions): Promise<void> {
  const { body } = await cli.client.call(forge.getTag, { params: { owner, repo, tag } });
  await cli.output.resource(body, tagColumns);
}

export interface TagCreateOptions extends TagOptions, IfAbsentFlag {
  readonly message?: string;
  readonly target?: string;
}

export const createOne = {
  operations: [forge.createTag, forge.getTag, forge.getCommit],
  output: resourceOf(forge.createTag, 201),
  define(command, cli, run = runCreate): void {
    addIfAbsentFlag(command)
      .argument(...repositoryArgument)
      .argument("<tag>", "the new tag")
      .option("-m, --message <text>", "makes an annotated tag with this message")
      .option("--target <ref>", "a branch, tag or commit; the default branch if it is not given")
      .action((repository: string, tag: string, flags: Omit<TagCreateOptions, keyof TagOptions>) =>
        run(cli, { ...toRepositoryName(repository), tag, ...flags }),
      );
  },
} satisfies CommandModule;

async function runCreate(cli: CliContext, options: TagCreateOptions): Promise<void> {
  const { owner, repo, tag, message, target } = options;
  const params = { owner, repo };
  let targetSha: string | undefined;
  const { value } = await createIfAbsent<WireTag>(cli, {
    ifAbsent: options.ifAbsent,
    title: `the tag ${tag} of ${owner}/${repo}`,
    find: async () => {
      const { body } = await cli.client.call(forge.getTag, { params: { ...params, tag } });
      if (target !== undefined)
        targetSha = (await cli.client.call(forge.getCommit, { params: { ...params, sha: target } }))
          .body.sha;
      return body;
    },
    create: async () => {
      const body = { tag_name: tag, message, target };
      return (await cli.client.call(forge.createTag, { params, body })).body;
    },
    settings: (existing) => [
      { flag: "--target", requested: targetSha, existing: existing.commit.sha },
      { flag: "--message", requested: message?.trimEnd(), existing: existing.message.trimEnd() },
    ],
  });
  await cli.output.resource(value, tagColumns);
}

export const deleteOne = {
  operations: [forge.deleteTag],
  output: shape({ deleted: "boolean", tag: "string" }),
  destructive: true,
  define(command, cli, run = runDelete): void {
    command
      .argument(...repositoryArgument)
      .argument(...tagArgument)
      .action((repository: string, tag: string) =>
        run(cli, { ...toRepositoryName(repository), tag }),
      );
  },
} satisfies CommandModule;

async function runDelete(cli: CliContext, { owner, repo, tag }: TagOptions): Promise<void> {
  await cli.prompts.confirm(`Delete the tag ${tag} of ${owner}/${repo}?`);
  await cli.client.call(forge.deleteTag, { params: { owner, repo, tag } });
  await cli.output.done({ deleted: true, tag }, `Deleted the tag ${tag}.`);
}
