import type { WireLabel } from "../../daemon/contract/forge/issues/labels.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { DryRun } from "../errors.ts";
import { readPages, wholeList } from "../output/pages.ts";
import { unpagedList } from "../output/spec.ts";
import { type LabelPlace, labelPages, toLabelPlace } from "../support/labels.ts";
import type { CommandModule } from "../tree/entry.ts";
import { placeArgument } from "./label.ts";

export interface LabelCloneOptions {
  readonly place: LabelPlace;
  readonly source: LabelPlace;
  /** Also change labels of the same name. */
  readonly force?: boolean;
}

/** The label of the source, and what happens to the one of its name. */
interface Outcome {
  readonly name: string;
  readonly outcome: "created" | "changed" | "kept";
}

export const cloneLabels = {
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
      .option(
        "-f, --force",
        "change labels that exist under the same name, which are kept otherwise",
      )
      .action((place: string, source: string, flags: Pick<LabelCloneOptions, "force">) =>
        run(cli, { place: toLabelPlace(place), source: toLabelPlace(source), ...flags }),
      );
  },
} satisfies CommandModule;

/** Copies labels by their names and prints an outcome for each. Run again, it continues. */
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
    if (same === undefined) await createLabel(cli, place, label);
    else if (force) await editLabel(cli, place, same, label);
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

async function createLabel(cli: CliContext, place: LabelPlace, label: WireLabel): Promise<void> {
  const { name } = label;
  const body = { ...toBody(label), name };
  if ("org" in place) await cli.client.call(forge.createOrgLabel, { params: place, body });
  else await cli.client.call(forge.createLabel, { params: place, body });
}

async function editLabel(
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
