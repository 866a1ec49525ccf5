import type { WireLabel } from "../../daemon/contract/forge/issues/labels.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { type PageSource, readPages } from "../output/pages.ts";
import { type RepositoryName, toRepositoryName } from "./repository.ts";

/** The owner of labels: a repository, or an organization. */
export type LabelPlace = RepositoryName | { readonly org: string };

/** `OWNER/NAME` or `ORG` as its parts. @throws CliError `usage` */
export function toLabelPlace(text: string): LabelPlace {
  if (text.includes("/")) return toRepositoryName(text);
  if (text === "") throw usageError("labels are named by OWNER/NAME, or by an organization");
  return { org: text };
}

/** The labels of a repository, or of an organization. */
export function labelPages({ client }: CliContext, place: LabelPlace): PageSource<WireLabel> {
  return "org" in place
    ? forgePages(client, forge.listOrgLabels, { params: place })
    : forgePages(client, forge.listLabels, { params: place });
}

/** Returns the id of a label by its name. @throws CliError `not_found` */
export async function findLabelId(
  cli: CliContext,
  place: LabelPlace,
  name: string,
): Promise<string> {
  const label = await findLabelNamed(cli, place, name);
  if (label === undefined) throw noLabel(name);
  return String(label.id);
}

/** Returns a label by its exact name; of several the oldest. */
export async function findLabelNamed(
  cli: CliContext,
  place: LabelPlace,
  name: string,
): Promise<WireLabel | undefined> {
  const found: WireLabel[] = [];
  const flags = { page: undefined, limit: undefined, all: true };
  for await (const { items } of readPages(labelPages(cli, place), flags))
    found.push(...items.filter((label) => label.name === name));
  return found.toSorted((one, other) => one.id - other.id)[0];
}

/**
 * Returns the ids of labels that issues of a repository may have, by name: those of the repository, then those of the
 * organization that owns it. @throws CliError `not_found`
 */
export async function findIssueLabelIds(
  cli: CliContext,
  place: RepositoryName,
  names: readonly string[],
): Promise<number[]> {
  if (names.length === 0) return [];
  const found = await findByNames(cli, place, names);
  const missing = names.filter((name) => !found.has(name));
  if (missing.length > 0)
    for (const [name, id] of await findOfOwner(cli, place, missing)) found.set(name, id);
  return names.map((name) => {
    const id = found.get(name);
    if (id === undefined) throw noLabel(name);
    return id;
  });
}

/** The owner may be a user, who has no labels. */
async function findOfOwner(
  cli: CliContext,
  { owner }: RepositoryName,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  try {
    return await findByNames(cli, { org: owner }, names);
  } catch (error) {
    if (error instanceof CliError && error.code === "not_found") return new Map();
    throw error;
  }
}

async function findByNames(
  cli: CliContext,
  place: LabelPlace,
  names: readonly string[],
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  const flags = { page: undefined, limit: undefined, all: true };
  for await (const { items } of readPages(labelPages(cli, place), flags))
    for (const { id, name } of items) if (names.includes(name)) found.set(name, id);
  return found;
}

const noLabel = (name: string) =>
  new CliError("not_found", `there is no label ${JSON.stringify(name)}`, {
    hint: "list the labels with: croft label list OWNER/NAME",
  });
