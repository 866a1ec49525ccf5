import type { Queries } from "../../../engine/database.ts";
import { type Reader, toReadable } from "../repositories/readable.ts";

/** Contributions of a quarter of an hour. */
export interface Contributions {
  /** Its beginning, in epoch seconds: time zones differ by quarters of an hour. */
  readonly timestamp: number;
  readonly contributions: number;
}

/**
 * Returns how many issues and comments a user wrote since a moment (epoch milliseconds) in repositories that the reader may
 * read, by quarters of an hour, oldest first.
 */
export async function listContributions(
  db: Queries,
  userId: number,
  {
    reader,
    isPublicOnly,
    since,
  }: {
    readonly reader: Reader;
    readonly isPublicOnly: boolean;
    readonly since: number;
  },
): Promise<readonly Contributions[]> {
  const readable = toReadable(reader, isPublicOnly, "repo.issues");
  return db.all<{ timestamp: number; contributions: number }>(
    `SELECT w.created_at / 900000 * 900 AS "timestamp", COUNT(*) AS contributions
     FROM (SELECT i.repository_id, i.created_at FROM forge_issues i
             WHERE i.author_id = ? AND i.created_at > ?
           UNION ALL
           SELECT i.repository_id, c.created_at FROM forge_issue_comments c
             JOIN forge_issues i ON i.id = c.issue_id
             WHERE c.author_id = ? AND c.created_at > ? AND c.kind = 'comment') AS w
     JOIN forge_repositories r ON r.id = w.repository_id JOIN forge_users u ON u.id = r.owner_id
     WHERE ${readable.sql}
     GROUP BY w.created_at / 900000 ORDER BY 1`,
    userId,
    since,
    userId,
    since,
    ...readable.values,
  );
}
