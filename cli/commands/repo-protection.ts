import type { WireBranchProtection } from "../../daemon/contract/forge/repositories/branch-protections.ts";
import { forge } from "../client/operations.ts";
import { usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { readTrueOrFalse } from "../support/flag-values.ts";
import { createIfAbsent, ifAbsentFlag, type Setting } from "../support/if-absent.ts";
import { repositoryArgument } from "../support/repository.ts";
import type { Entry } from "../tree/entry.ts";
import { command, type FlagValues } from "../tree/command.ts";

/** Requirements of pull requests. */
const mergeFlags = {
  "--approvals <number>": "approvals that a pull request needs",
  "--check <pattern...>": "status checks that must succeed before a pull request is merged",
  "--merge-user <name...>": "only these users merge pull requests",
  "--merge-team <name...>": "only the members of these teams merge pull requests",
  "--block-rejected <true|false>": "whether requested changes block a merge",
  "--block-outdated <true|false>": "whether a head branch that is behind blocks a merge",
  "--protected-files <pattern...>": "files that no pull request may change",
} as const;

/** Who pushes, as an edit says it. */
const pushFlags = {
  "--push <true|false>": "whether pushes are allowed",
  "--push-user <name...>": "only these users push",
  "--push-team <name...>": "only the members of these teams push",
  "--force-push <true|false>": "whether those who push may also force",
} as const;

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
  command("create", "Protect branches, so that they change by pull requests only", {
    args: { ...repositoryArgument, ...ruleArgument },
    flags: {
      ...ifAbsentFlag,
      ...pushFlags,
      "--push <true|false>":
        "whether those who may write push; by default only pull requests change the branch",
      "--force-push <true|false>": "whether those who push may also force; false by default",
      ...mergeFlags,
    },
    calls: [forge.createBranchProtection, forge.getBranchProtection],
    output: resourceOf(forge.createBranchProtection, 201),
    examples: [
      [
        "Refuse every push, and let pull requests through",
        "croft repo protection create keeper/notes main",
      ],
      [
        "Require two approvals and the checks of continuous integration",
        "croft repo protection create keeper/notes main --approvals 2 --check 'ci/*'",
      ],
      [
        "Refuse deletion and forced pushes only",
        "croft repo protection create keeper/notes main --push true",
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
          ...toMergeSettings(options, existing),
        ],
        editedBy: "croft repo protection edit",
      });
      await cli.output.resource(value, ruleColumns);
    },
  }),
  command("edit", "Edit a rule", {
    args: { ...repositoryArgument, ...ruleArgument },
    flags: {
      ...pushFlags,
      ...mergeFlags,
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
  { header: "approvals", cell: ({ required_approvals: number }) => number },
  {
    header: "checks",
    cell: (rule) => (rule.enable_status_check ? rule.status_check_contexts.join(", ") : undefined),
  },
];

type MergeFlags = FlagValues<typeof mergeFlags>;

/** A list of users or teams restricts pushes to them. */
function toBody({
  push,
  pushUser,
  pushTeam,
  forcePush,
  ...merging
}: FlagValues<typeof pushFlags> & MergeFlags) {
  const isListed = pushUser !== undefined || pushTeam !== undefined;
  return {
    enable_push: readTrueOrFalse("--push", push) ?? (isListed ? true : undefined),
    enable_push_whitelist: isListed ? true : undefined,
    push_whitelist_usernames: pushUser === undefined ? undefined : [...pushUser],
    push_whitelist_teams: pushTeam === undefined ? undefined : [...pushTeam],
    enable_force_push: readTrueOrFalse("--force-push", forcePush),
    ...toMergeBody(merging),
  };
}

/** A list of users or teams restricts merges to them, a pattern of checks requires them. */
function toMergeBody(flags: MergeFlags) {
  const { approvals, check, mergeUser, mergeTeam, protectedFiles } = flags;
  return {
    required_approvals:
      approvals === undefined ? undefined : toWholeNumber("--approvals", approvals),
    enable_status_check: check === undefined ? undefined : true,
    status_check_contexts: check === undefined ? undefined : [...check],
    enable_merge_whitelist: mergeUser !== undefined || mergeTeam !== undefined ? true : undefined,
    merge_whitelist_usernames: mergeUser === undefined ? undefined : [...mergeUser],
    merge_whitelist_teams: mergeTeam === undefined ? undefined : [...mergeTeam],
    block_on_rejected_reviews: readTrueOrFalse("--block-rejected", flags.blockRejected),
    block_on_outdated_branch: readTrueOrFalse("--block-outdated", flags.blockOutdated),
    protected_file_patterns: protectedFiles?.join(";"),
  };
}

function toMergeSettings(flags: MergeFlags, existing: WireBranchProtection): readonly Setting[] {
  const { approvals, check, mergeUser, mergeTeam, protectedFiles } = flags;
  const toText = (names: readonly string[] | undefined) => names?.toSorted().join(",");
  return [
    { flag: "--approvals", requested: approvals, existing: String(existing.required_approvals) },
    {
      flag: "--check",
      requested: toText(check),
      existing: toText(existing.status_check_contexts),
    },
    {
      flag: "--merge-user",
      requested: toText(mergeUser),
      existing: toText(existing.merge_whitelist_usernames),
    },
    {
      flag: "--merge-team",
      requested: toText(mergeTeam),
      existing: toText(existing.merge_whitelist_teams),
    },
    {
      flag: "--block-rejected",
      requested: readTrueOrFalse("--block-rejected", flags.blockRejected),
      existing: existing.block_on_rejected_reviews,
    },
    {
      flag: "--block-outdated",
      requested: readTrueOrFalse("--block-outdated", flags.blockOutdated),
      existing: existing.block_on_outdated_branch,
    },
    {
      flag: "--protected-files",
      requested: protectedFiles?.join(";"),
      existing: existing.protected_file_patterns,
    },
  ];
}

function toWholeNumber(flag: string, text: string): number {
  if (!/^\d{1,6}$/.test(text))
    throw usageError(`${flag} takes a whole number, not ${JSON.stringify(text)}`);
  return Number(text);
}
