import type { WireMilestone } from "../../daemon/contract/forge/issues/milestones.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { readPages } from "../output/pages.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import { createIfAbsent, ifAbsentFlag } from "../support/if-absent.ts";
import { toDueDate, toListState } from "../support/issues.ts";
import { type RepositoryName, repositoryArgument } from "../support/repository.ts";
import { readText } from "../support/input.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

const milestoneArgument = { "<milestone>": "the title of the milestone, or its id" } as const;

export const entries: readonly Entry[] = [
  command("list", "List the milestones of a repository", {
    aliases: ["ls"],
    args: repositoryArgument,
    flags: {
      "--state <state>": { help: "open, closed or all; open when absent", parse: toListState },
      "--name <text>": "part of the title",
    },
    calls: [forge.listMilestones],
    output: listOf(forge.listMilestones),
    examples: [
      ["List open milestones", "croft milestone list keeper/notes"],
      [
        "List all of them with their due dates",
        "croft milestone list keeper/notes --state all --template '{{.title}} {{.due_on}}'",
      ],
    ],
    /** Prints milestones, the next due first. */
    async run(cli, { repository: { owner, repo }, ...query }) {
      const input = { params: { owner, repo }, query };
      await cli.output.list(forgePages(cli.client, forge.listMilestones, input), milestoneColumns);
    },
  }),
  command("view", "Show a milestone", {
    args: { ...repositoryArgument, ...milestoneArgument },
    calls: [forge.getMilestone],
    output: resourceOf(forge.getMilestone),
    examples: [
      ["Show a milestone", 'croft milestone view keeper/notes "Version 1"'],
      [
        "Print how many issues are open",
        'croft milestone view keeper/notes "Version 1" --jq .open_issues',
      ],
    ],
    async run(cli, { repository, milestone: id, ...flags }) {
      const params = { ...repository, id, ...flags };
      const { body } = await cli.client.call(forge.getMilestone, { params });
      await cli.output.resource(body, milestoneLines);
    },
  }),
  command("create", "Create a milestone", {
    args: { ...repositoryArgument, "<title>": "the title" },
    flags: {
      ...ifAbsentFlag,
      "--description <text>": 'the description as Markdown; "-" reads standard input',
      "--due <date>": { help: "the due date, such as 2026-12-31", parse: toDueDate },
    },
    calls: [forge.createMilestone, forge.listMilestones, forge.deleteMilestone],
    output: resourceOf(forge.createMilestone, 201),
    /** Only a duplicate that this command has just made is deleted. */
    destructive: false,
    examples: [
      ["Create a milestone", 'croft milestone create keeper/notes "Version 1"'],
      [
        "Create one with a last day",
        'croft milestone create keeper/notes "Version 1" --due 2026-12-31',
      ],
      [
        "In a script that may run again",
        'croft milestone create keeper/notes "Version 1" --if-absent --jq .id',
      ],
    ],
    async run(
      cli,
      { repository: { owner, repo }, title, description: descriptionFlag, due, ifAbsent },
    ) {
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
          return (await cli.client.call(forge.createMilestone, { params: { owner, repo }, body }))
            .body;
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
    },
  }),
  command("edit", "Edit, close or reopen a milestone", {
    args: { ...repositoryArgument, ...milestoneArgument },
    flags: {
      "--title <text>": "a new title",
      "--description <text>": 'a new description; "-" reads standard input',
      "--due <date>": { help: "a new due date, such as 2026-12-31", parse: toDueDate },
      "--close": "close it",
      "--reopen": "open it again",
    },
    calls: [forge.editMilestone],
    output: resourceOf(forge.editMilestone),
    examples: [
      ["Close a milestone", 'croft milestone edit keeper/notes "Version 1" --close'],
      ["Move the last day", 'croft milestone edit keeper/notes "Version 1" --due 2027-01-31'],
    ],
    /** Changes a milestone and prints it. */
    async run(cli, { repository, milestone: id, ...options }) {
      const { owner, repo } = repository;
      const { title, description, due, close, reopen } = options;
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
    },
  }),
  command("delete", "Delete a milestone; its issues stay", {
    aliases: ["rm"],
    args: { ...repositoryArgument, ...milestoneArgument },
    calls: [forge.deleteMilestone],
    output: shape({ deleted: "boolean", milestone: "string" }),
    destructive: true,
    examples: [
      ["Delete a milestone", 'croft milestone delete keeper/notes "Version 1" --yes'],
      ["Show the request only", 'croft milestone delete keeper/notes "Version 1" --dry-run'],
    ],
    async run(cli, { repository, milestone: id, ...flags }) {
      const params = { ...repository, id, ...flags };
      const { id: milestone } = params;
      await cli.prompts.confirm(`Delete the milestone ${milestone}?`);
      await cli.client.call(forge.deleteMilestone, { params });
      await cli.output.done({ deleted: true, milestone }, `Deleted the milestone ${milestone}.`);
    },
  }),
];

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
