import type { Transaction } from "../../../../storage/engine/database.ts";
import {
  type ActionLevel,
  instanceLevel,
} from "../../../../storage/tables/forge/actions/levels.ts";
import type { ForgeRepository } from "../../../../storage/tables/forge/repositories/repositories.ts";
import { type GrantedPlace, reopenPlace, toPlaceId } from "../../organizations/places.ts";

/**
 * Returns the level of a request, and throws when the caller may not change what it has. Called in the transaction of the
 * change, so that a right that ends meanwhile does not count.
 */
export type OpenLevel = (tx: Transaction) => Promise<ActionLevel>;

/** The level of what an operation has opened; an operation on the instance opens nothing. */
export function toLevel(opened: GrantedPlace | undefined): ActionLevel {
  if (opened === undefined) return instanceLevel;
  const { kind, id } = toPlaceId(opened);
  return kind === "repository"
    ? { ownerId: undefined, repositoryId: id }
    : { ownerId: id, repositoryId: undefined };
}

/** Opens the level again in the transaction of a change. */
export function reopenLevel(opened: GrantedPlace | undefined): OpenLevel {
  return async (tx) => toLevel(opened && (await reopenPlace(tx, opened)));
}

/** Returns the levels that apply to a repository; a later one overrides an earlier one. */
export function toLevelsOf(repository: ForgeRepository): readonly ActionLevel[] {
  return [
    instanceLevel,
    { ownerId: repository.ownerId, repositoryId: undefined },
    { ownerId: undefined, repositoryId: repository.id },
  ];
}
