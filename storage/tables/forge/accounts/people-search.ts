import type { Database } from "../../../engine/database.ts";
import { all, sql } from "../../condition.ts";
import type { Window } from "../../table.ts";
import type { Reader } from "../repositories/readable.ts";
import { toVisible } from "./follows.ts";
import { isOverlongTerm, toLikePattern, toSearchCondition } from "./user-search.ts";
import type { UserPage } from "./user-lists.ts";
import { users } from "./users.ts";
import type { UserId } from "../ids.ts";

/** A search for people as any user may make it. */
export interface PeopleSearch {
  /** Part of name, full name or of an address that its owner shows; ignores case. Empty matches everyone. */
  readonly term: string;
  /** The id of one account; 0 for all. */
  readonly id: UserId;
  readonly viewer: Reader;
  /** Only public accounts. */
  readonly isPublicOnly: boolean;
}

/** Returns a page of the individuals that the viewer may see and the term matches, by name, and the count of all. */
export async function searchPeople(
  db: Database,
  { term, id, viewer, isPublicOnly }: PeopleSearch,
  window: Window,
): Promise<UserPage> {
  if (isOverlongTerm(term)) return { users: [], total: 0 };
  const conditions = [sql`u.kind = 0`, sql`(${toVisible(isPublicOnly ? undefined : viewer)})`];
  if (id !== 0) conditions.push(sql`u.id = ${id}`);
  if (term !== "") {
    conditions.push(sql`u.id IN (${toSearchCondition(db.dialect, term)})`);
    // An account must not be found by a hidden address alone.
    if (viewer?.isAdmin !== true)
      conditions.push(
        sql`(u.keep_email_private = 0 OR u.id = ${viewer?.id ?? 0} OR u.id IN (
              SELECT user_id FROM forge_user_search WHERE names LIKE ${toLikePattern(term)} ESCAPE '\\'))`,
      );
  }
  const from = sql`forge_users u WHERE ${all(conditions)}`;
  const { records, total } = await users
    .as("u")
    .page(db, from, { ...window, order: "u.lower_name" });
  return { users: records, total };
}
