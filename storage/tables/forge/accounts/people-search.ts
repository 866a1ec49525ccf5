import type { Database, SqlValue } from "../../../engine/database.ts";
import type { Reader } from "../repositories/readable.ts";
import { toVisible } from "./follows.ts";
import { isOverlongTerm, toLikePattern, toSearchCondition } from "./user-search.ts";
import type { UserPage } from "./user-lists.ts";
import { toUser, toUserColumns, type UserRow } from "./users.ts";
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
  window: { readonly limit: number; readonly offset: number },
): Promise<UserPage> {
  if (isOverlongTerm(term)) return { users: [], total: 0 };
  const conditions = ["u.kind = 0"];
  const values: SqlValue[] = [];
  const visible = toVisible(isPublicOnly ? undefined : viewer);
  conditions.push(`(${visible.sql})`);
  values.push(...visible.values);
  if (id !== 0) {
    conditions.push("u.id = ?");
    values.push(id);
  }
  if (term !== "") {
    const found = toSearchCondition(db.dialect, term);
    conditions.push(`u.id IN (${found.sql})`);
    values.push(...found.values);
    if (viewer?.isAdmin !== true) {
      // An account must not be found by a hidden address alone.
      conditions.push(
        String.raw`(u.keep_email_private = 0 OR u.id = ?
          OR u.id IN (SELECT user_id FROM forge_user_search WHERE names LIKE ? ESCAPE '\'))`,
      );
      values.push(viewer?.id ?? 0, toLikePattern(term));
    }
  }
  const where = conditions.join(" AND ");
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_users u WHERE ${where}`,
    ...values,
  );
  const rows = await db.all<UserRow>(
    `SELECT ${toUserColumns("u.")} FROM forge_users u WHERE ${where} ORDER BY u.lower_name LIMIT ? OFFSET ?`,
    ...values,
    window.limit,
    window.offset,
  );
  return { users: rows.map(toUser), total: counted?.total ?? 0 };
}
