import type { Queries } from "../../../storage/engine/database.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  listTagProtections,
  type TagProtection,
} from "../../../storage/tables/forge/repositories/tag-protections.ts";
import type { Compute } from "../compute.ts";
import { matchInBatches } from "./name-patterns.ts";

/** A user may change a tag that no rule matches, or that a matching rule lets them change. */
export type MayChangeTag = (tag: string) => boolean;

/**
 * Evaluates the rules of a repository for tags. Matches in worker threads when the patterns are hard; refuses with
 * `unavailable` when that takes too long.
 * @param isListed whether a user is on a list
 */
export async function judgeTags(
  { db, compute }: { readonly db: Queries; readonly compute: Compute },
  { id, ownerId }: Pick<ForgeRepository, "id" | "ownerId">,
  tags: readonly string[],
  isListed: (rule: TagProtection) => Promise<boolean>,
): Promise<MayChangeTag> {
  const rules = tags.length === 0 ? [] : await listTagProtections(db, id);
  if (rules.length === 0) return () => true;
  const patterns = rules.map(({ namePattern }) => namePattern);
  const input = { kind: "tags", patterns, names: tags } as const;
  const matched = await matchInBatches(compute, input, String(ownerId));
  const listed = await Promise.all(rules.map(isListed));
  const positions = new Map(tags.map((tag, index) => [tag, matched[index] ?? []]));
  return (tag) => {
    const matching = positions.get(tag) ?? [];
    return matching.length === 0 || matching.some((at) => listed[at] === true);
  };
}
