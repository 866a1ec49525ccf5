import type { WireTagProtection } from "../../daemon/contract/forge/repositories/tag-protections.ts";
import { forge } from "../client/operations.ts";
import { usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { repositoryArgument } from "../support/repository.ts";
import { command, type FlagValues } from "../tree/command.ts";
import type { Entry } from "../tree/entry.ts";

const ruleArgument = { "<id>": "the id of the rule" } as const;
const listFlags = {
  "--user <name...>": "these users change the tags",
  "--team <name...>": "the members of these teams change the tags",
} as const;

export const entries: readonly Entry[] = [
  command("list", "List the rules that protect tags", {
    aliases: ["ls"],
    args: repositoryArgument,
    calls: [forge.listTagProtections],
    output: listOf(forge.listTagProtections),
    examples: [
      ["List the rules of a repository", "croft repo tag-protection list keeper/notes"],
      [
        "Print their patterns",
        "croft repo tag-protection list keeper/notes --jq '.[].name_pattern'",
      ],
    ],
    async run(cli, { repository: params }) {
      const { body } = await cli.client.call(forge.listTagProtections, { params });
      await cli.output.list(wholeList(body), ruleColumns);
    },
  }),
  command("view", "Show a rule", {
    args: { ...repositoryArgument, ...ruleArgument },
    calls: [forge.getTagProtection],
    output: resourceOf(forge.getTagProtection),
    examples: [
      ["Show a rule", "croft repo tag-protection view keeper/notes 1"],
      [
        "Print who changes the tags",
        "croft repo tag-protection view keeper/notes 1 --jq .whitelist_usernames",
      ],
    ],
    async run(cli, { repository, id }) {
      const params = { ...repository, id };
      const { body } = await cli.client.call(forge.getTagProtection, { params });
      await cli.output.resource(body, ruleColumns);
    },
  }),
  command("create", "Let only some people create, move and delete tags", {
    args: {
      ...repositoryArgument,
      "<pattern>": "a pattern of tag names, or a regular expression between slashes",
    },
    flags: listFlags,
    calls: [forge.createTagProtection],
    output: resourceOf(forge.createTagProtection, 201),
    examples: [
      [
        "Let one user make releases",
        "croft repo tag-protection create keeper/notes 'v*' --user mira",
      ],
      [
        "Protect versions by a regular expression",
        "croft repo tag-protection create keeper/notes '/^v[0-9]+\\.[0-9]+$/' --user mira otto",
      ],
    ],
    async run(cli, { repository: params, pattern, ...lists }) {
      if (lists.user === undefined && lists.team === undefined)
        throw usageError("name who changes the tags", "give --user or --team");
      const body = { name_pattern: pattern, ...toLists(lists) };
      const { body: rule } = await cli.client.call(forge.createTagProtection, { params, body });
      await cli.output.resource(rule, ruleColumns);
    },
  }),
  command("edit", "Edit a rule", {
    args: { ...repositoryArgument, ...ruleArgument },
    flags: { "--pattern <pattern>": "the pattern of the tags", ...listFlags },
    calls: [forge.editTagProtection],
    output: resourceOf(forge.editTagProtection),
    examples: [
      [
        "Let other users change the tags",
        "croft repo tag-protection edit keeper/notes 1 --user mira otto",
      ],
      ["Protect other tags", "croft repo tag-protection edit keeper/notes 1 --pattern 'release-*'"],
    ],
    async run(cli, { repository, id, pattern, ...lists }) {
      if (pattern === undefined && lists.user === undefined && lists.team === undefined)
        throw usageError("nothing to change");
      const params = { ...repository, id };
      const body = { name_pattern: pattern, ...toLists(lists) };
      const { body: rule } = await cli.client.call(forge.editTagProtection, { params, body });
      await cli.output.resource(rule, ruleColumns);
    },
  }),
  command("delete", "Remove a rule", {
    aliases: ["rm"],
    args: { ...repositoryArgument, ...ruleArgument },
    calls: [forge.deleteTagProtection],
    output: shape({ deleted: "boolean", id: "string" }),
    destructive: true,
    examples: [
      ["Remove a rule", "croft repo tag-protection delete keeper/notes 1 --yes"],
      ["Show the request only", "croft repo tag-protection delete keeper/notes 1 --dry-run"],
    ],
    async run(cli, { repository, id }) {
      const { owner, repo } = repository;
      await cli.prompts.confirm(`Remove the rule ${id} of the tags of ${owner}/${repo}?`);
      await cli.client.call(forge.deleteTagProtection, { params: { ...repository, id } });
      await cli.output.done({ deleted: true, id }, `Removed the rule ${id}.`);
    },
  }),
];

const toLists = ({ user, team }: FlagValues<typeof listFlags>) => ({
  whitelist_usernames: user === undefined ? undefined : [...user],
  whitelist_teams: team === undefined ? undefined : [...team],
});

const ruleColumns: readonly Column<WireTagProtection>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "pattern", cell: ({ name_pattern: pattern }) => pattern },
  {
    header: "changed by",
    cell: (rule) => [...rule.whitelist_usernames, ...rule.whitelist_teams].join(", "),
  },
];
