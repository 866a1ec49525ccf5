import type { WireBranchProtection } from "../../daemon/contract/forge/repositories/branch-protections.ts";
import { forge } from "../client/operations.ts";
import { usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { readTrueOrFalse } from "../support/flag-values.ts";
import { createIfAbsent, ifAbsentFlag } from "../support/if-absent.ts";
import { repositoryArgument } from "../support/repository.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

const ruleArgument = { "<rule>": "the name or pattern of the branches" } as const;

export const entries: readonly Entry[] = [
  command("list", "List the rules that protect branches", {
    aliases: ["ls"],
    args: repositoryArgument,
    calls: [forge.listBranchProtections],
    output: listOf(forge.listBranchProtections),
    examples: [
      ["List the rules of a repository", "croft repo protection list keeper/notes"],
      [
        "Print the names of the rules",
        "croft repo protection list keeper/notes --jq '.[].rule_name'",
      ],
    ],
    /** Prints the rules in the order in which the daemon applies them. */
    async run(cli, { repository: { owner, repo } }) {
      const { body } = await cli.client.call(forge.listBranchProtections, {
        params: { owner, repo },
      });
      await cli.output.list(wholeList(body), ruleColumns);
    },
  }),
  command("view", "Show a rule", {
    args: { ...repositoryArgument, ...ruleArgument },
    calls: [forge.getBranchProtection],
    output: resourceOf(forge.getBranchProtection),
    examples: [
      ["Show the rule of a branch", "croft repo protection view keeper/notes main"],
      [
        "Print who may push",
        "croft repo protection view keeper/notes main --jq '.push_whitelist_usernames | join(\",\")'",
      ],
    ],
    async run(cli, { repository: { owner, repo }, rule }) {
      const { body } = await cli.client.call(forge.getBranchProtection, {
        params: { owner, repo, rule },
      });
      await cli.output.resource(body, ruleColumns);
    },
  }),
  command("create", "Protect branches from deletion, forced pushes and, if asked, all pushes", {
    args: { ...repositoryArgument, ...ruleArgument },
    flags: {
      ...ifAbsentFlag,
      "--push <true|false>":
        "whether those who may write push; true by default, false refuses every push",
      "--push-user <name...>": "only these users push",
      "--push-team <name...>": "only the members of these teams push",
      "--force-push <true|false>": "whether those who push may also force; false by default",
    },
    calls: [forge.createBranchProtection, forge.getBranchProtection],
    output: resourceOf(forge.createBranchProtection, 201),
    examples: [
      [
        "Refuse deletion and forced pushes; those who may write still push",
        "croft repo protection create keeper/notes main",
      ],
      [
        "Refuse every push to a branch",
        "croft repo protection create keeper/notes main --push false",
      ],
      [
        "Let two users push to release branches",
        "croft repo protection create keeper/notes 'release/*' --push true --push-user mira otto",
      ],
      [
        "In a script that may run again",
        "croft repo protection create keeper/notes main --if-absent",
      ],
    ],
    async run(cli, { repository, ...flags }) {
      const options = { ...repository, ...flags };
      const { owner, repo, rule } = options;
      const fields = toBody(options);
      const { value } = await createIfAbsent<WireBranchProtection>(cli, {
        ifAbsent: options.ifAbsent,
        title: `the rule ${rule} of ${owner}/${repo}`,
        find: async () =>
          (await cli.client.call(forge.getBranchProtection, { params: { owner, repo, rule } }))
            .body,
        create: async () => {
          const body = { rule_name: rule, ...fields };
          return (
            await cli.client.call(forge.createBranchProtection, { params: { owner, repo }, body })
          ).body;
        },
        settings: (existing) => [
          { flag: "--push", requested: options.push, existing: existing.enable_push },
          {
            flag: "--push-user",
            requested: options.pushUser?.toSorted().join(","),
            existing: existing.push_whitelist_usernames.toSorted().join(","),
          },
          {
            flag: "--push-team",
            requested: options.pushTeam?.toSorted().join(","),
            existing: existing.push_whitelist_teams.toSorted().join(","),
          },
          {
            flag: "--force-push",
            requested: options.forcePush,
            existing: existing.enable_force_push,
          },
        ],
        editedBy: "croft repo protection edit",
      });
      await cli.output.resource(value, ruleColumns);
    },
  }),
  command("edit", "Edit a rule", {
    args: { ...repositoryArgument, ...ruleArgument },
    flags: {
      "--push <true|false>": "whether pushes are allowed",
      "--push-user <name...>": "only these users push",
      "--push-team <name...>": "only the members of these teams push",
      "--force-push <true|false>": "whether those who push may also force",
    },
    calls: [forge.editBranchProtection],
    output: resourceOf(forge.editBranchProtection),
    examples: [
      [
        "Let a team push",
        "croft repo protection edit keeper/notes main --push true --push-team writers",
      ],
      ["Forbid forced pushes", "croft repo protection edit keeper/notes main --force-push false"],
    ],
    /** Changes a rule and prints it. */
    async run(cli, { repository, rule, ...options }) {
      if (Object.keys(options).length === 0) throw usageError("nothing to change");
      const { body } = await cli.client.call(forge.editBranchProtection, {
        params: { ...repository, rule },
        body: toBody(options),
      });
      await cli.output.resource(body, ruleColumns);
    },
  }),
  command("delete", "Remove a rule", {
    aliases: ["rm"],
    args: { ...repositoryArgument, ...ruleArgument },
    calls: [forge.deleteBranchProtection],
    output: shape({ deleted: "boolean", rule: "string" }),
    destructive: true,
    examples: [
      ["Remove a rule", "croft repo protection delete keeper/notes main --yes"],
      ["Show the request only", "croft repo protection delete keeper/notes main --dry-run"],
    ],
    async run(cli, { repository: { owner, repo }, rule }) {
      await cli.prompts.confirm(`Stop protecting ${rule} in ${owner}/${repo}?`);
      await cli.client.call(forge.deleteBranchProtection, { params: { owner, repo, rule } });
      await cli.output.done({ deleted: true, rule }, `Removed the rule ${rule}.`);
    },
  }),
];

const ruleColumns: readonly Column<WireBranchProtection>[] = [
  { header: "rule", cell: ({ rule_name: name }) => name },
  { header: "priority", cell: ({ priority }) => priority },
  { header: "push", cell: ({ enable_push: may }) => may },
  {
    header: "only by",
    cell: (rule) =>
      rule.enable_push_whitelist
        ? [...rule.push_whitelist_usernames, ...rule.push_whitelist_teams].join(", ")
        : undefined,
  },
  { header: "force push", cell: ({ enable_force_push: may }) => may },
];

interface ProtectionFlags {
  readonly push?: string;
  readonly pushUser?: readonly string[];
  readonly pushTeam?: readonly string[];
  readonly forcePush?: string;
}

/** A list of users or teams restricts pushes to them. */
function toBody({ push, pushUser, pushTeam, forcePush }: ProtectionFlags) {
  const isListed = pushUser !== undefined || pushTeam !== undefined;
  return {
    enable_push: readTrueOrFalse("--push", push) ?? (isListed ? true : undefined),
    enable_push_whitelist: isListed ? true : undefined,
    push_whitelist_usernames: pushUser === undefined ? undefined : [...pushUser],
    push_whitelist_teams: pushTeam === undefined ? undefined : [...pushTeam],
    enable_force_push: readTrueOrFalse("--force-push", forcePush),
  };
}
