import type { WireBranchProtection } from "../../daemon/contract/forge/repositories/branch-protections.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { readTrueOrFalse } from "../support/flag-values.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../support/if-absent.ts";
import {
  repositoryArgument,
  type RepositoryName,
  toRepositoryName,
} from "../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the rules that protect branches", () => listAll, { aliases: ["ls"] }),
  verb("view", "Show a rule", () => viewOne),
  verb("create", "Protect branches", () => createOne),
  verb("edit", "Edit a rule", () => editOne),
  verb("delete", "Remove a rule", () => deleteOne, { aliases: ["rm"] }),
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

const ruleArgument = ["<rule>", "the name or pattern of the branches"] as const;

const listAll = {
  operations: [forge.listBranchProtections],
  output: listOf(forge.listBranchProtections),
  define(command, cli, run = runList): void {
    command
      .argument(...repositoryArgument)
      .action((repository: string) => run(cli, toRepositoryName(repository)));
  },
} satisfies CommandModule;

/** Prints the rules in the order in which the daemon applies them. */
async function runList(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const { body } = await cli.client.call(forge.listBranchProtections, { params: { owner, repo } });
  await cli.output.list(wholeList(body), ruleColumns);
}

interface RuleOptions extends RepositoryName {
  readonly rule: string;
}

const viewOne = {
  operations: [forge.getBranchProtection],
  output: resourceOf(forge.getBranchProtection),
  define(command, cli, run = runView): void {
    command
      .argument(...repositoryArgument)
      .argument(...ruleArgument)
      .action((repository: string, rule: string) =>
        run(cli, { ...toRepositoryName(repository), rule }),
      );
  },
} satisfies CommandModule;

async function runView(cli: CliContext, { owner, repo, rule }: RuleOptions): Promise<void> {
  const { body } = await cli.client.call(forge.getBranchProtection, {
    params: { owner, repo, rule },
  });
  await cli.output.resource(body, ruleColumns);
}

export interface ProtectionOptions extends RuleOptions {
  readonly push?: string;
  readonly pushUser?: readonly string[];
  readonly pushTeam?: readonly string[];
  readonly forcePush?: string;
}

export const createOne = {
  operations: [forge.createBranchProtection, forge.getBranchProtection],
  output: resourceOf(forge.createBranchProtection, 201),
  define(command, cli, run = runCreate): void {
    addIfAbsentFlag(command)
      .argument(...repositoryArgument)
      .argument(...ruleArgument)
      .option("--push <true|false>", "whether pushes are allowed; false by default")
      .option("--push-user <name...>", "only these users push")
      .option("--push-team <name...>", "only the members of these teams push")
      .option("--force-push <true|false>", "whether those who push may also force")
      .action(
        (
          repository: string,
          rule: string,
          flags: Omit<ProtectionOptions, keyof RuleOptions> & IfAbsentFlag,
        ) => run(cli, { ...toRepositoryName(repository), rule, ...flags }),
      );
  },
} satisfies CommandModule;

async function runCreate(
  cli: CliContext,
  options: ProtectionOptions & IfAbsentFlag,
): Promise<void> {
  const { owner, repo, rule } = options;
  const fields = toBody(options);
  const { value } = await createIfAbsent<WireBranchProtection>(cli, {
    ifAbsent: options.ifAbsent,
    title: `the rule ${rule} of ${owner}/${repo}`,
    find: async () =>
      (await cli.client.call(forge.getBranchProtection, { params: { owner, repo, rule } })).body,
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
      { flag: "--force-push", requested: options.forcePush, existing: existing.enable_force_push },
    ],
    editedBy: "croft repo protection edit",
  });
  await cli.output.resource(value, ruleColumns);
}

const editOne = {
  operations: [forge.editBranchProtection],
  output: resourceOf(forge.editBranchProtection),
  define(command, cli, run = runEdit): void {
    command
      .argument(...repositoryArgument)
      .argument(...ruleArgument)
      .option("--push <true|false>", "whether pushes are allowed")
      .option("--push-user <name...>", "only these users push")
      .option("--push-team <name...>", "only the members of these teams push")
      .option("--force-push <true|false>", "whether those who push may also force")
      .action(
        (repository: string, rule: string, flags: Omit<ProtectionOptions, keyof RuleOptions>) => {
          if (Object.keys(flags).length === 0) throw usageError("nothing to change");
          return run(cli, { ...toRepositoryName(repository), rule, ...flags });
        },
      );
  },
} satisfies CommandModule;

/** Changes a rule and prints it. */
async function runEdit(cli: CliContext, options: ProtectionOptions): Promise<void> {
  const { owner, repo, rule } = options;
  const { body } = await cli.client.call(forge.editBranchProtection, {
    params: { owner, repo, rule },
    body: toBody(options),
  });
  await cli.output.resource(body, ruleColumns);
}

/** A list of users or teams restricts pushes to them. */
function toBody({ push, pushUser, pushTeam, forcePush }: ProtectionOptions) {
  const isListed = pushUser !== undefined || pushTeam !== undefined;
  return {
    enable_push: readTrueOrFalse("--push", push) ?? (isListed ? true : undefined),
    enable_push_whitelist: isListed ? true : undefined,
    push_whitelist_usernames: pushUser === undefined ? undefined : [...pushUser],
    push_whitelist_teams: pushTeam === undefined ? undefined : [...pushTeam],
    enable_force_push: readTrueOrFalse("--force-push", forcePush),
  };
}

const deleteOne = {
  operations: [forge.deleteBranchProtection],
  output: shape({ deleted: "boolean", rule: "string" }),
  destructive: true,
  define(command, cli, run = runDelete): void {
    command
      .argument(...repositoryArgument)
      .argument(...ruleArgument)
      .action((repository: string, rule: string) =>
        run(cli, { ...toRepositoryName(repository), rule }),
      );
  },
} satisfies CommandModule;

async function runDelete(cli: CliContext, { owner, repo, rule }: RuleOptions): Promise<void> {
  await cli.prompts.confirm(`Stop protecting ${rule} in ${owner}/${repo}?`);
  await cli.client.call(forge.deleteBranchProtection, { params: { owner, repo, rule } });
  await cli.output.done({ deleted: true, rule }, `Removed the rule ${rule}.`);
}
