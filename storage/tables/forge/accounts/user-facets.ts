import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId } from "../ids.ts";

export type ForgeVisibility = "public" | "limited" | "private";

/** The properties of an account that lists filter by. */
interface FacetSource {
  readonly kind: "individual" | "organization";
  readonly visibility: ForgeVisibility;
  readonly isActive: boolean;
  readonly isAdmin: boolean;
  readonly isRestricted: boolean;
  readonly prohibitLogin: boolean;
  readonly twoFactorEnabled: boolean;
  readonly loginSource: number;
}

/** A filter that facets can answer. An absent member matches everything. */
export interface FacetFilter {
  readonly kind: FacetSource["kind"];
  readonly visibility?: ForgeVisibility | undefined;
  /** Only public and limited accounts. */
  readonly isNotPrivate?: boolean | undefined;
  readonly isActive?: boolean | undefined;
  readonly isAdmin?: boolean | undefined;
  readonly isRestricted?: boolean | undefined;
  readonly prohibitLogin?: boolean | undefined;
  readonly twoFactorEnabled?: boolean | undefined;
  readonly loginSource?: number | undefined;
}

/** The facets that match a filter, with the counts of their accounts and of all accounts of the kind. */
export interface FacetSelection {
  readonly facets: readonly number[];
  readonly selected: number;
  readonly ofKind: number;
}

/** Returns the filterable properties of an account as one number: any combination of filters is a set of facets. */
export function toFacet(user: FacetSource): number {
  return (
    (user.kind === "individual" ? 0 : 1) +
    2 * visibilityOrder.indexOf(user.visibility) +
    8 * Number(user.isActive) +
    16 * Number(user.isAdmin) +
    32 * Number(user.isRestricted) +
    64 * Number(user.prohibitLogin) +
    128 * Number(user.twoFactorEnabled) +
    256 * user.loginSource
  );
}

/** Evaluates a filter over the few facets that exist. Exact, at a cost that does not grow with the number of accounts. */
export async function selectFacets(db: Queries, filter: FacetFilter): Promise<FacetSelection> {
  const rows = await db.all<{ facet: number; users: number }>(
    "SELECT facet, users FROM forge_user_facets WHERE users > 0 ORDER BY facet",
  );
  const facets: number[] = [];
  let selected = 0;
  let ofKind = 0;
  for (const { facet, users } of rows) {
    if (facet % 2 !== (filter.kind === "individual" ? 0 : 1)) continue;
    ofKind += users;
    if (!matches(facet, filter)) continue;
    facets.push(facet);
    selected += users;
  }
  return { facets, selected, ofKind };
}

/** Adds to the count of a facet, and invalidates cached cursors by a new generation. */
export async function adjustFacet(tx: Transaction, facet: number, by: number): Promise<void> {
  if (by !== 0) {
    await tx.run(
      `INSERT INTO forge_user_facets (facet, users) VALUES (?, ?)
       ON CONFLICT (facet) DO UPDATE SET users = forge_user_facets.users + excluded.users`,
      facet,
      by,
    );
  }
  await tx.run("UPDATE forge_people_state SET generation = generation + 1 WHERE id = 1");
}

/** Returns an id that no account ever had. */
export async function nextUserId(tx: Transaction): Promise<UserId> {
  const row = await tx.get<{ last_user_id: UserId }>(
    "UPDATE forge_people_state SET last_user_id = last_user_id + 1 WHERE id = 1 RETURNING last_user_id",
  );
  if (row === undefined) throw new Error("forge_people_state has no row");
  return row.last_user_id;
}

/** Returns the generation of accounts, which grows with every change of one. */
export async function getPeopleGeneration(db: Queries): Promise<number> {
  const row = await db.get<{ generation: number }>(
    "SELECT generation FROM forge_people_state WHERE id = 1",
  );
  return row?.generation ?? 0;
}

const visibilityOrder: readonly ForgeVisibility[] = ["public", "limited", "private"];

function matches(facet: number, filter: FacetFilter): boolean {
  const bit = (weight: number) => Math.floor(facet / weight) % 2 === 1;
  const wants = (expected: boolean | undefined, weight: number) =>
    expected === undefined || expected === bit(weight);
  return (
    (filter.visibility === undefined ||
      Math.floor(facet / 2) % 4 === visibilityOrder.indexOf(filter.visibility)) &&
    (filter.isNotPrivate !== true || visibilityOrder[Math.floor(facet / 2) % 4] !== "private") &&
    (filter.loginSource === undefined || Math.floor(facet / 256) === filter.loginSource) &&
    wants(filter.isActive, 8) &&
    wants(filter.isAdmin, 16) &&
    wants(filter.isRestricted, 32) &&
    wants(filter.prohibitLogin, 64) &&
    wants(filter.twoFactorEnabled, 128)
  );
}
