import type { WireTag } from "../../daemon/contract/forge/code/tags.ts";
import { forge } from "../client/operations.ts";
import { type Column, time } from "../output/cells.ts";
import { resourceOf, shape } from "../output/spec.ts";
import { createIfAbsent, ifAbsentFlag } from "../support/if-absent.ts";
import { repositoryArgument, repositoryList } from "../support/repository.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

const tagArgument = { "<tag>": "the tag" } as const;

export const entries: readonly Entry[] = [
  command("list", "List the tags of a repository", async () => listAll, { aliases: ["ls"] }),
  command("view", "Show a tag", {
    args: { ...repositoryArgument, ...tagArgument },
    calls: [forge.getTag],
    output: resourceOf(forge.getTag),
    examples: [
      ["Show a tag", "croft repo tag view keeper/notes v1.0"],
      ["Print its commit", "croft repo tag view keeper/notes v1.0 --jq .commit.sha"],
    ],
    async run(cli, { repository: { owner, repo }, tag }) {
      const { body } = await cli.client.call(forge.getTag, { params: { owner, repo, tag } });
      await cli.output.resource(body, tagColumns);
    },
  }),
  command("create", "Create a tag", {
    args: { ...repositoryArgument, "<tag>": "the new tag" },
    flags: {
      ...ifAbsentFlag,
      "-m, --message <text>": "makes an annotated tag with this message",
      "--target <ref>": "a branch, tag or commit; the default branch if it is not given",
    },
    calls: [forge.createTag, forge.getTag, forge.getCommit],
    output: resourceOf(forge.createTag, 201),
    examples: [
      ["Tag the default branch", "croft repo tag create keeper/notes v1.0"],
      [
        "Create an annotated tag of a branch",
        'croft repo tag create keeper/notes v1.1 --target release -m "Release 1.1"',
      ],
      [
        "In a script that may run again",
        "croft repo tag create keeper/notes v1.0 --target 0123456789abcdef0123456789abcdef01234567 --if-absent",
      ],
    ],
    async run(cli, { repository, ...flags }) {
      const options = { ...repository, ...flags };
      const { owner, repo, tag, message, target } = options;
      const params = { owner, repo };
      let targetSha: string | undefined;
      const { value } = await createIfAbsent<WireTag>(cli, {
        ifAbsent: options.ifAbsent,
        title: `the tag ${tag} of ${owner}/${repo}`,
        find: async () => {
          const { body } = await cli.client.call(forge.getTag, { params: { ...params, tag } });
          if (target !== undefined)
            targetSha = (
              await cli.client.call(forge.getCommit, { params: { ...params, sha: target } })
            ).body.sha;
          return body;
        },
        create: async () => {
          const body = { tag_name: tag, message, target };
          return (await cli.client.call(forge.createTag, { params, body })).body;
        },
        settings: (existing) => [
          { flag: "--target", requested: targetSha, existing: existing.commit.sha },
          {
            flag: "--message",
            requested: message?.trimEnd(),
            existing: existing.message.trimEnd(),
          },
        ],
      });
      await cli.output.resource(value, tagColumns);
    },
  }),
  command("delete", "Delete a tag", {
    aliases: ["rm"],
    args: { ...repositoryArgument, ...tagArgument },
    calls: [forge.deleteTag],
    output: shape({ deleted: "boolean", tag: "string" }),
    destructive: true,
    examples: [
      ["Delete a tag", "croft repo tag delete keeper/notes v1.0 --yes"],
      ["Show the request only", "croft repo tag delete keeper/notes v1.0 --dry-run"],
    ],
    async run(cli, { repository: { owner, repo }, tag }) {
      await cli.prompts.confirm(`Delete the tag ${tag} of ${owner}/${repo}?`);
      await cli.client.call(forge.deleteTag, { params: { owner, repo, tag } });
      await cli.output.done({ deleted: true, tag }, `Deleted the tag ${tag}.`);
    },
  }),
];

const tagColumns: readonly Column<WireTag>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "commit", cell: ({ commit }) => commit.sha.slice(0, 10) },
  { header: "created", cell: ({ commit }) => time(commit.created) },
  { header: "message", cell: ({ message }) => message.split("\n")[0] },
];

/** The tags, newest first. */
const listAll = repositoryList(forge.listTags, tagColumns, [
  ["List the tags", "croft repo tag list keeper/notes"],
  [
    "Print the name of the newest one",
    "croft repo tag list keeper/notes --limit 1 --jq '.[0].name'",
  ],
]);
