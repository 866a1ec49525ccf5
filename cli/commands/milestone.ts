import type { WireMilestone } from "../../daemon/contract/forge/issues/milestones.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { readPages } from "../output/pages.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../support/if-absent.ts";
import { toDueDate, toListState } from "../support/issues.ts";
import { type RepositoryName, toRepositoryName } from "../support/repository.ts";
import { readText } from "../support/input.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the milestones of a repository", () => listMilestones, { aliases: ["ls"] }),
  verb("view", "Show a milestone", () => viewMilestone),
  verb("create", "Create a milestone", () => createMilestone),
  verb("edit", "Edit, close or reopen a milestone", () => editMilestone),
  verb("delete", "Delete a milestone; its issues stay", () => deleteMilestone, {
    aliases: ["rm"],
  }),
];

const repositoryArgument = ["<repository>", "the repository as OWNER/NAME"] as const;
const milestoneArgument = ["<milestone>", "the title of the milestone, or its id"] as const;

interface MilestoneListOptions extends RepositoryName {
  readonly state?: string;
  readonly name?: string;
}

const listMilestones = {
  operations: [forge.listMilestones],
  output: listOf(forge.listMilestones),
  define(command, cli, run = runMilestoneList): void {
    command
      .argument(...repositoryArgument)
      .option("--state <state>", "open, closed or all; open when absent", toListState)
      .option("--name <text>", "part of the title")
      .action((repository: string, flags: Omit<MilestoneListOptions, keyof RepositoryName>) =>
        run(cli, { ...toRepositoryName(repository), ...flags }),
      );
  },
} satisfies CommandModule;

/** Prints milestones, the next due first. */
async function runMilestoneList(
  cli: CliContext,
  { owner, repo, ...query }: MilestoneListOptions,
): Promise<void> {
  const input = { params: { owner, repo }, query };
  await cli.output.list(forgePages(cli.client, forge.listMilestones, input), milestoneColumns);
}

interface MilestoneOptions extends RepositoryName {
  readonly id: string;
}

const viewMilestone = {
  operations: [forge.getMilestone],
  output: resourceOf(forge.getMilestone),
  define(command, cli, run = runMilestoneView): void {
    command
      .argument(...repositoryArgument)
      .argument(...milestoneArgument)
      .action((repository: string, id: string) =>
        run(cli, { ...toRepositoryName(repository), id }),
      );
  },
} satisfies CommandModule;

async function runMilestoneView(cli: CliContext, params: MilestoneOptions): Promise<void> {
  const { body } = await cli.client.call(forge.getMilestone, { params });
  await cli.output.resource(body, milestoneLines);
}

interface MilestoneCreateOptions extends RepositoryName, IfAbsentFlag {
  readonly title: string;
  readonly description?: string;
  readonly due?: string;
}

const createMilestone = {
  operations: [forge.createMilestone, forge.listMilestones, forge.deleteMilestone],
  output: resourceOf(forge.createMilestone, 201),
  /** Only a duplicate that this command has just made is deleted. */
  destructive: false,
  define(command, cli, run = runMilestoneCreate): void {
    addIfAbsentFlag(command)
      .argument(...repositoryArgument)
      .argument("<title>", "the title")
      .option("--description <text>", 'the description as Markdown; "-" reads standard input')
      .option("--due <date>", "the due date, such as 2026-12-31", toDueDate)
      .action(
        (
          repository: string,
          title: string,
          flags: Omit<MilestoneCreateOptions, "title" | keyof RepositoryName>,
        ) => run(cli, { ...toRepositoryName(repository), title, ...flags }),
      );
  },
} satisfies CommandModule;

async function runMilestoneCreate(
  cli: CliContext,
  { owner, repo, title, description: descriptionFlag, due, ifAbsent }: MilestoneCreateOptions,
): Promise<void> {
  const description =
    descriptionFlag === undefined ? undefined : await readText(cli, descriptionFlag);
  const { value } = await createIfAbsent<WireMilestone>(cli, {
    ifAbsent,
    title: `the milestone ${JSON.stringify(title)} of ${owner}/${repo}`,
    find: () => findTitled(cli, { owner, repo }, title),
    create: async () => {
      const body = {
        title,
        ...(description === undefined ? {} : { description }),
        ...(due === undefined ? {} : { due_on: due }),
      };
      return (await cli.client.call(forge.createMilestone, { params: { owner, repo }, body })).body;
    },
    settings: (existing) => [
      { flag: "--description", requested: description, existing: existing.description },
      { flag: "--due", requested: due?.slice(0, 10), existing: existing.due_on?.slice(0, 10) },
    ],
    editedBy: "croft milestone edit",
    async withdraw({ id }) {
      const params = { owner, repo, id: String(id) };
      await cli.client.call(forge.deleteMilestone, { params });
    },
  });
  await cli.output.resource(value, milestoneLines);
}

/** Returns the milestone with exactly this title, open or closed; of several the oldest. */
async function findTitled(
  cli: CliContext,
  params: RepositoryName,
  title: string,
): Promise<WireMilestone | undefined> {
  const query = { state: "all", name: title };
  const pages = forgePages(cli.client, forge.listMilestones, { params, query });
  const found: WireMilestone[] = [];
  for await (const { items } of readPages(pages, { page: undefined, limit: undefined, all: true }))
    found.push(...items.filter((milestone) => milestone.title === title));
  return found.toSorted((one, other) => one.id - other.id)[0];
}

interface MilestoneEditOptions extends MilestoneOptions {
  readonly title?: string;
  readonly description?: string;
  readonly due?: string;
  readonly close?: boolean;
  readonly reopen?: boolean;
}

export const editMilestone = {
  operations: [forge.editMilestone],
  output: resourceOf(forge.editMilestone),
  define(command, cli, run = runMilestoneEdit): void {
    command
      .argument(...repositoryArgument)
      .argument(...milestoneArgument)
      .option("--title <text>", "a new title")
      .option("--description <text>", 'a new description; "-" reads standard input')
      .option("--due <date>", "a new due date, such as 2026-12-31", toDueDate)
      .option("--close", "close it")
      .option("--reopen", "open it again")
      .action((repository: string, id: string, flags: Omit<MilestoneEditOptions, "owner">) =>
        run(cli, { ...toRepositoryName(repository), ...flags, id }),
      );
  },
} satisfies CommandModule;

/** Changes a milestone and prints it. */
async function runMilestoneEdit(cli: CliContext, options: MilestoneEditOptions): Promise<void> {
  const { owner, repo, id, title, description, due, close, reopen } = options;
  if (close === true && reopen === true)
    throw usageError("--close and --reopen exclude each other");
  const changes = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description: await readText(cli, description) }),
    ...(due === undefined ? {} : { due_on: due }),
    ...(close === true ? { state: "closed" } : {}),
    ...(reopen === true ? { state: "open" } : {}),
  };
  if (Object.keys(changes).length === 0)
    throw new CliError(
      "missing_input",
      "nothing to change: give --title, --description, --due or --close",
    );
  const { body } = await cli.client.call(forge.editMilestone, {
    params: { owner, repo, id },
    body: changes,
  });
  await cli.output.resource(body, milestoneLines);
}

const deleteMilestone = {
  operations: [forge.deleteMilestone],
  output: shape({ deleted: "boolean", milestone: "string" }),
  destructive: true,
  define(command, cli, run = runMilestoneDelete): void {
    command
      .argument(...repositoryArgument)
      .argument(...milestoneArgument)
      .action((repository: string, id: string) =>
        run(cli, { ...toRepositoryName(repository), id }),
      );
  },
} satisfies CommandModule;

async function runMilestoneDelete(cli: CliContext, params: MilestoneOptions): Promise<void> {
  const { id: milestone } = params;
  await cli.prompts.confirm(`Delete the milestone ${milestone}?`);
  await cli.client.call(forge.deleteMilestone, { params });
  await cli.output.done({ deleted: true, milestone }, `Deleted the milestone ${milestone}.`);
}

/** A milestone in a table. */
const milestoneColumns: readonly Column<WireMilestone>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "title", cell: ({ title }) => title },
  { header: "state", cell: ({ state }) => state },
  { header: "open", cell: ({ open_issues: open }) => open },
  { header: "closed", cell: ({ closed_issues: closed }) => closed },
  { header: "due", cell: ({ due_on: due }) => (due === null ? undefined : time(due)) },
];

const milestoneLines: readonly Column<WireMilestone>[] = [
  ...milestoneColumns,
  { header: "description", cell: ({ description }) => description },
];
