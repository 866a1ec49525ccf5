import type { WireLabel } from "../../daemon/contract/forge/issues/labels.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, DryRun } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { listOf, resourceOf, shape, unpagedList } from "../output/spec.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../support/if-absent.ts";
import {
  findLabelId,
  findLabelNamed,
  type LabelPlace,
  labelPages,
  toLabelPlace,
} from "../support/labels.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";
import { readPages, wholeList } from "../output/pages.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the labels of a repository or an organization", () => listLabels, {
    aliases: ["ls"],
  }),
  verb("create", "Create a label", () => createLabel),
  verb("edit", "Edit a label", () => editLabel),
  verb("clone", "Copy the labels of a repository or an organization to another", () => cloneLabels),
  verb("delete", "Delete a label and remove it from all issues", () => deleteLabel, {
    aliases: ["rm"],
  }),
];

const placeArgument = ["<place>", "a repository as OWNER/NAME, or an organization"] as const;

const listLabels = {
  operations: [forge.listLabels, forge.listOrgLabels],
  output: listOf(forge.listLabels),
  define(command, cli, run = runLabelList): void {
    command.argument(...placeArgument).action((place: string) => run(cli, toLabelPlace(place)));
  },
} satisfies CommandModule;

/** Prints labels, by name. */
async function runLabelList(cli: CliContext, place: LabelPlace): Promise<void> {
  await cli.output.list(labelPages(cli, place), labelColumns);
}

export interface LabelCreateOptions extends IfAbsentFlag {
  readonly place: LabelPlace;
  readonly name: string;
  readonly color?: string;
  readonly description?: string;
  readonly exclusive?: boolean;
}

export const createLabel = {
  operations: [
    forge.createLabel,
    forge.createOrgLabel,
    forge.listLabels,
    forge.listOrgLabels,
    forge.deleteLabel,
    forge.deleteOrgLabel,
  ],
  output: resourceOf(forge.createLabel, 201),
  /** Only a duplicate that this command has just made is deleted. */
  destructive: false,
  define(command, cli, run = runLabelCreate): void {
    addIfAbsentFlag(command)
      .argument(...placeArgument)
      .argument("<name>", "the name of the label")
      .option("-c, --color <color>", "six hex digits, such as d73a4a; ededed by default")
      .option("-d, --description <text>", "the meaning of the label")
      .option("--exclusive", "an issue has one label with the same part before the last slash")
      .action((place: string, name: string, flags: Omit<LabelCreateOptions, "place" | "name">) =>
        run(cli, { place: toLabelPlace(place), name, ...flags }),
      );
  },
} satisfies CommandModule;

async function runLabelCreate(
  cli: CliContext,
  { place, ifAbsent, ...fields }: LabelCreateOptions,
): Promise<void> {
  const { name, color = "ededed", description, exclusive } = fields;
  const body = { ...fields, color };
  const { value: label } = await createIfAbsent<WireLabel>(cli, {
    ifAbsent,
    title: `the label ${JSON.stringify(name)} of ${"org" in place ? place.org : `${place.owner}/${place.repo}`}`,
    find: () => findLabelNamed(cli, place, name),
    create: async () =>
      "org" in place
        ? (await cli.client.call(forge.createOrgLabel, { params: place, body })).body
        : (await cli.client.call(forge.createLabel, { params: place, body })).body,
    settings: (existing) => [
      { flag: "--color", requested: toDigits(fields.color), existing: toDigits(existing.color) },
      { flag: "--description", requested: description, existing: existing.description },
      { flag: "--exclusive", requested: exclusive, existing: existing.exclusive },
    ],
    editedBy: "croft label edit",
    withdraw: ({ id }) => removeLabel(cli, place, String(id)),
  });
  await cli.output.resource(label, labelColumns);
}

/** The server takes `#D73A4A` for `d73a4a`, and `#abc` for `aabbcc`. */
function toDigits(color: string | undefined): string | undefined {
  const digits = color?.trim().replace(/^#/, "").toLowerCase();
  return digits?.length === 3 ? digits.replaceAll(/./g, "$&$&") : digits;
}

interface LabelEditOptions {
  readonly place: LabelPlace;
  readonly label: string;
  readonly name?: string;
  readonly color?: string;
  readonly description?: string;
  readonly exclusive?: boolean;
  readonly archived?: boolean;
}

export const editLabel = {
  operations: [forge.editLabel, forge.editOrgLabel],
  output: resourceOf(forge.editLabel),
  define(command, cli, run = runLabelEdit): void {
    command
      .argument(...placeArgument)
      .argument("<label>", "the name of the label")
      .option("-n, --name <name>", "a new name")
      .option("-c, --color <color>", "a new colour, six hex digits")
      .option("-d, --description <text>", "a new description")
      .option("--exclusive", "make it exclusive")
      .option("--no-exclusive", "let issues have several labels of its scope")
      .option("--archived", "archive it")
      .option("--no-archived", "unarchive it")
      .action((place: string, label: string, flags: Omit<LabelEditOptions, "place" | "label">) =>
        run(cli, { place: toLabelPlace(place), label, ...flags }),
      );
  },
} satisfies CommandModule;

/** Changes a label and prints it. */
async function runLabelEdit(
  cli: CliContext,
  { place, label: labelName, archived, ...changes }: LabelEditOptions,
): Promise<void> {
  const body = { ...changes, ...(archived === undefined ? {} : { is_archived: archived }) };
  if (Object.keys(body).length === 0)
    throw new CliError("missing_input", "nothing to change: give --name, --color or --description");
  const id = await findLabelId(cli, place, labelName);
  const { body: label } =
    "org" in place
      ? await cli.client.call(forge.editOrgLabel, { params: { ...place, id }, body })
      : await cli.client.call(forge.editLabel, { params: { ...place, id }, body });
  await cli.output.resource(label, labelColumns);
}

interface LabelDeleteOptions {
  readonly place: LabelPlace;
  readonly label: string;
}

const deleteLabel = {
  operations: [forge.deleteLabel, forge.deleteOrgLabel],
  output: shape({ deleted: "boolean", name: "string" }),
  destructive: true,
  define(command, cli, run = runLabelDelete): void {
    command
      .argument(...placeArgument)
      .argument("<label>", "the name of the label")
      .action((place: string, label: string) => run(cli, { place: toLabelPlace(place), label }));
  },
} satisfies CommandModule;

async function runLabelDelete(
  cli: CliContext,
  { place, label: name }: LabelDeleteOptions,
): Promise<void> {
  const id = await findLabelId(cli, place, name);
  await cli.prompts.confirm(`Delete the label ${name} and remove it from all issues?`);
  await removeLabel(cli, place, id);
  await cli.output.done({ deleted: true, name }, `Deleted the label ${name}.`);
}

async function removeLabel(cli: CliContext, place: LabelPlace, id: string): Promise<void> {
  if ("org" in place) await cli.client.call(forge.deleteOrgLabel, { params: { ...place, id } });
  else await cli.client.call(forge.deleteLabel, { params: { ...place, id } });
}

const labelColumns: readonly Column<WireLabel>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "color", cell: ({ color }) => color },
  { header: "exclusive", cell: ({ exclusive }) => exclusive },
  { header: "archived", cell: ({ is_archived: isArchived }) => isArchived },
  { header: "description", cell: ({ description }) => description },
];

interface LabelCloneOptions {
  readonly place: LabelPlace;
  readonly source: LabelPlace;
  /** Also change labels of the same name. */
  readonly force?: boolean;
}

/** The result for one label of the source. */
interface Outcome {
  readonly name: string;
  readonly outcome: "created" | "changed" | "kept";
}

const cloneLabels = {
  operations: [
    forge.createLabel,
    forge.createOrgLabel,
    forge.editLabel,
    forge.editOrgLabel,
    forge.listLabels,
    forge.listOrgLabels,
  ],
  output: unpagedList({ name: "string", outcome: "string" }),
  define(command, cli, run = runLabelClone): void {
    command
      .argument(...placeArgument)
      .argument("<source>", "the repository or organization with the labels")
      .option("-f, --force", "overwrite existing labels of the same name")
      .action((place: string, source: string, flags: Pick<LabelCloneOptions, "force">) =>
        run(cli, { place: toLabelPlace(place), source: toLabelPlace(source), ...flags }),
      );
  },
} satisfies CommandModule;

/** Copies labels by name and prints an outcome for each. A second run copies the remaining ones. */
async function runLabelClone(
  cli: CliContext,
  { place, source, force = false }: LabelCloneOptions,
): Promise<void> {
  const existing = new Map((await readLabels(cli, place)).map((label) => [label.name, label]));
  const plan = (await readLabels(cli, source)).map((label) => {
    const same = existing.get(label.name);
    const outcome = same === undefined ? "created" : force ? "changed" : "kept";
    return { label, same, outcome } as const;
  });
  if (cli.flags.dryRun)
    throw new DryRun({ labels: plan.map(({ label, outcome }) => ({ name: label.name, outcome })) });
  const outcomes: Outcome[] = [];
  for (const { label, same, outcome } of plan) {
    if (same === undefined) await createCopy(cli, place, label);
    else if (force) await editCopy(cli, place, same, label);
    outcomes.push({ name: label.name, outcome });
  }
  await cli.output.list(wholeList(outcomes), [
    { header: "name", cell: ({ name }) => name },
    { header: "outcome", cell: ({ outcome }) => outcome },
  ]);
}

async function readLabels(cli: CliContext, place: LabelPlace): Promise<readonly WireLabel[]> {
  const labels: WireLabel[] = [];
  const flags = { page: undefined, limit: undefined, all: true };
  for await (const { items } of readPages(labelPages(cli, place), flags)) labels.push(...items);
  return labels;
}

async function createCopy(cli: CliContext, place: LabelPlace, label: WireLabel): Promise<void> {
  const { name } = label;
  const body = { ...toBody(label), name };
  if ("org" in place) await cli.client.call(forge.createOrgLabel, { params: place, body });
  else await cli.client.call(forge.createLabel, { params: place, body });
}

async function editCopy(
  cli: CliContext,
  place: LabelPlace,
  { id }: WireLabel,
  label: WireLabel,
): Promise<void> {
  const body = toBody(label);
  if ("org" in place)
    await cli.client.call(forge.editOrgLabel, { params: { ...place, id: String(id) }, body });
  else await cli.client.call(forge.editLabel, { params: { ...place, id: String(id) }, body });
}

function toBody({ color, description, exclusive, is_archived: archived }: WireLabel) {
  return { color, description, exclusive, is_archived: archived };
}
