import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf, resourceOf } from "../../output/spec.ts";
import { dependencyColumns, issueLines } from "../../support/issues.ts";
import { type IssueName, toIssueName } from "../../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb(
    "list",
    "List the issues that an issue depends on, or that depend on it",
    () => listDependencies,
    {
      aliases: ["ls"],
    },
  ),
  verb("add", "Make an issue depend on another one", () => addDependency),
  verb("remove", "Remove a dependency of an issue", () => removeDependency, { aliases: ["rm"] }),
];

const issueArgument = ["<issue>", "the issue as OWNER/NAME#NUMBER"] as const;
const otherArgument = [
  "<other>",
  "the issue that must be closed first: its number, or OWNER/NAME#NUMBER",
] as const;

interface DependencyListOptions extends IssueName {
  readonly blocked?: boolean;
}

const listDependencies = {
  operations: [forge.listIssueDependencies, forge.listBlockedIssues],
  output: listOf(forge.listIssueDependencies),
  define(command, cli, run = runDependencyList): void {
    command
      .argument(...issueArgument)
      .option("--blocked", "list the issues that depend on this one")
      .action((issue: string, flags: { readonly blocked?: boolean }) =>
        run(cli, { ...toIssueName(issue), ...flags }),
      );
  },
} satisfies CommandModule;

/** Prints the dependencies of an issue. */
async function runDependencyList(
  cli: CliContext,
  { blocked = false, ...params }: DependencyListOptions,
): Promise<void> {
  const pages = blocked
    ? forgePages(cli.client, forge.listBlockedIssues, { params })
    : forgePages(cli.client, forge.listIssueDependencies, { params });
  await cli.output.list(pages, dependencyColumns);
}

interface DependencyOptions extends IssueName {
  readonly other: IssueName;
}

const addDependency = {
  operations: [forge.addIssueDependency],
  output: resourceOf(forge.addIssueDependency, 201),
  define(command, cli, run = runDependencyAdd): void {
    command
      .argument(...issueArgument)
      .argument(...otherArgument)
      .action((issue: string, other: string) => run(cli, toPair(issue, other)));
  },
} satisfies CommandModule;

/** Makes an issue depend on another one, and prints it. */
async function runDependencyAdd(
  cli: CliContext,
  { other, ...params }: DependencyOptions,
): Promise<void> {
  const { body } = await cli.client.call(forge.addIssueDependency, { params, body: toBody(other) });
  await cli.output.resource(body, issueLines);
}

const removeDependency = {
  operations: [forge.removeIssueDependency],
  output: resourceOf(forge.removeIssueDependency, 201),
  destructive: false,
  define(command, cli, run = runDependencyRemove): void {
    command
      .argument(...issueArgument)
      .argument(...otherArgument)
      .action((issue: string, other: string) => run(cli, toPair(issue, other)));
  },
} satisfies CommandModule;

/** Removes a dependency of an issue, and prints the issue. */
async function runDependencyRemove(
  cli: CliContext,
  { other, ...params }: DependencyOptions,
): Promise<void> {
  const body = toBody(other);
  const { body: issue } = await cli.client.call(forge.removeIssueDependency, { params, body });
  await cli.output.resource(issue, issueLines);
}

/** The other issue may be a number in the same repository. @throws CliError `usage` */
function toPair(issue: string, other: string): DependencyOptions {
  const { owner, repo, index } = toIssueName(issue);
  const isNumber = /^#?\d+$/.test(other);
  const named = isNumber ? `${owner}/${repo}#${other.replace("#", "")}` : other;
  return { owner, repo, index, other: toIssueName(named) };
}

const toBody = ({ owner, repo, index }: IssueName) => ({ owner, repo, index: Number(index) });
