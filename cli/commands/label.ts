import type { WireLabel } from "../../daemon/contract/forge/issues/labels.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError, DryRun } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { listOf, resourceOf, shape, unpagedList } from "../output/spec.ts";
import { createIfAbsent, ifAbsentFlag } from "../support/if-absent.ts";
import {
  findLabelId,
  findLabelNamed,
  type LabelPlace,
  labelPages,
  toLabelPlace,
} from "../support/labels.ts";
import type { Entry } from "../tree/entry.ts";
import { readPages, wholeList } from "../output/pages.ts";
import { command } from "../tree/command.ts";

const placeArgument = {
  "<place>": { help: "a repository as OWNER/NAME, or an organization", parse: toLabelPlace },
} as const;

export const entries: readonly Entry[] = [
  command("list", "List the labels of a repository or an organization", {
    aliases: ["ls"],
    args: placeArgument,
    calls: [forge.listLabels, forge.listOrgLabels],
    output: listOf(forge.listLabels),
    examples: [
      ["List the labels of a repository", "croft label list keeper/notes"],
      ["List those of an organization", "croft label list acme"],
    ],
    /** Prints labels, by name. */
    async run(cli, { place }) {
      await cli.output.list(labelPages(cli, place), labelColumns);
    },
  }),
  command("create", "Create a label", {
    args: { ...placeArgument, "<name>": "the name of the label" },
    flags: {
      ...ifAbsentFlag,
      "-c, --color <color>": "six hex digits, such as d73a4a; ededed by default",
      "-d, --description <text>": "the meaning of the label",
      "--exclusive": "an issue has one label with the same part before the last slash",
    },
    calls: [
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
    examples: [
      ["Create a label", "croft label create keeper/notes bug --color d73a4a"],
      [
        "Create an exclusive label of an organization",
        "croft label create acme priority/high --color b60205 --exclusive",
      ],
      [
        "In a script that may run again",
        "croft label create keeper/notes bug --color d73a4a --if-absent",
      ],
    ],
    async run(cli, { place, ifAbsent, ...fields }) {
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
          {
            flag: "--color",
            requested: toDigits(fields.color),
            existing: toDigits(existing.color),
          },
          { flag: "--description", requested: description, existing: existing.description },
          { flag: "--exclusive", requested: exclusive, existing: existing.exclusive },
        ],
        editedBy: "croft label edit",
        withdraw: ({ id }) => removeLabel(cli, place, String(id)),
      });
      await cli.output.resource(label, labelColumns);
    },
  }),
  command("edit", "Edit a label", {
    args: { ...placeArgument, "<label>": "the name of the label" },
    flags: {
      "-n, --name <name>": "a new name",
      "-c, --color <color>": "a new colour, six hex digits",
      "-d, --description <text>": "a new description",
      "--exclusive": "make it exclusive",
      "--no-exclusive": "let issues have several labels of its scope",
      "--archived": "archive it",
      "--no-archived": "unarchive it",
    },
    calls: [forge.editLabel, forge.editOrgLabel],
    output: resourceOf(forge.editLabel),
    examples: [
      ["Rename a label", "croft label edit keeper/notes bug --name defect"],
      ["Offer a label no longer", "croft label edit keeper/notes bug --archived"],
    ],
    /** Changes a label and prints it. */
    async run(cli, { place, label: labelName, archived, ...changes }) {
      const body = { ...changes, ...(archived === undefined ? {} : { is_archived: archived }) };
      if (Object.keys(body).length === 0)
        throw new CliError(
          "missing_input",
          "nothing to change: give --name, --color or --description",
        );
      const id = await findLabelId(cli, place, labelName);
      const { body: label } =
        "org" in place
          ? await cli.client.call(forge.editOrgLabel, { params: { ...place, id }, body })
          : await cli.client.call(forge.editLabel, { params: { ...place, id }, body });
      await cli.output.resource(label, labelColumns);
    },
  }),
  command("clone", "Copy the labels of a repository or an organization to another", {
    args: {
      ...placeArgument,
      "<source>": { help: "the repository or organization with the labels", parse: toLabelPlace },
    },
    flags: { "-f, --force": "overwrite existing labels of the same name" },
    calls: [
      forge.createLabel,
      forge.createOrgLabel,
      forge.editLabel,
      forge.editOrgLabel,
      forge.listLabels,
      forge.listOrgLabels,
    ],
    output: unpagedList({ name: "string", outcome: "string" }),
    examples: [
      ["Copy the labels of another repository", "croft label clone keeper/notes keeper/journal"],
      ["Show which labels would be copied", "croft label clone keeper/notes acme --dry-run"],
    ],
    /** Copies labels by name and prints an outcome for each. A second run copies the remaining ones. */
    async run(cli, { place, source, force = false }) {
      const existing = new Map((await readLabels(cli, place)).map((label) => [label.name, label]));
      const plan = (await readLabels(cli, source)).map((label) => {
        const same = existing.get(label.name);
        const outcome = same === undefined ? "created" : force ? "changed" : "kept";
        return { label, same, outcome } as const;
      });
      if (cli.flags.dryRun)
        throw new DryRun({
          labels: plan.map(({ label, outcome }) => ({ name: label.name, outcome })),
        });
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
    },
  }),
  command("delete", "Delete a label and remove it from all issues", {
    aliases: ["rm"],
    args: { ...placeArgument, "<label>": "the name of the label" },
    calls: [forge.deleteLabel, forge.deleteOrgLabel],
    output: shape({ deleted: "boolean", name: "string" }),
    destructive: true,
    examples: [
      ["Delete a label", "croft label delete keeper/notes bug --yes"],
      ["Show the request only", "croft label delete keeper/notes bug --dry-run"],
    ],
    async run(cli, { place, label: name }) {
      const id = await findLabelId(cli, place, name);
      await cli.prompts.confirm(`Delete the label ${name} and remove it from all issues?`);
      await removeLabel(cli, place, id);
      await cli.output.done({ deleted: true, name }, `Deleted the label ${name}.`);
    },
  }),
];

/** The server takes `#D73A4A` for `d73a4a`, and `#abc` for `aabbcc`. */
function toDigits(color: string | undefined): string | undefined {
  const digits = color?.trim().replace(/^#/, "").toLowerCase();
  return digits?.length === 3 ? digits.replaceAll(/./g, "$&$&") : digits;
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

/** The result for one label of the source. */
interface Outcome {
  readonly name: string;
  readonly outcome: "created" | "changed" | "kept";
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
