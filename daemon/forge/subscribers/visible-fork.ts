import type { ForgeEvents } from "../events.ts";
import { isPublic } from "../repositories/access.ts";

/**
 * Returns whether people of the parent may know of a fork. A hidden account that forks a public repository must not become
 * known by it.
 */
export function isVisibleFork({ parent, repository, owner }: ForgeEvents["fork"]): boolean {
  return !isPublic(parent) || isPublic({ repository, owner });
}
