import type { Transaction } from "../../../storage/engine/database.ts";
import type { HookPlace } from "../../../storage/tables/forge/hooks/hooks.ts";
import type { GrantedAccount, GrantedOrganization, GrantedRepository } from "../opened.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { reopenOrganization } from "./organization-access.ts";

/** What has hooks, secrets, variables and runners of its own. */
export type GrantedPlace = GrantedRepository | GrantedOrganization | GrantedAccount;

export function toPlaceId(place: GrantedPlace): HookPlace {
  if ("repository" in place) return { kind: "repository", id: place.repository.id };
  const owner = "organization" in place ? place.organization : place.account;
  return { kind: "owner", id: owner.id };
}

/** Opens a place again in the transaction of a change, so that the change is refused when a right changed since. */
export async function reopenPlace(
  tx: Transaction,
  place: GrantedRepository | GrantedOrganization,
): Promise<GrantedRepository | GrantedOrganization>;
export async function reopenPlace(tx: Transaction, place: GrantedPlace): Promise<GrantedPlace>;
export async function reopenPlace(tx: Transaction, place: GrantedPlace): Promise<GrantedPlace> {
  if ("repository" in place) return reopenRepository(tx, place);
  return "organization" in place ? reopenOrganization(tx, place) : place;
}
