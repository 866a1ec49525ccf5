import type { Transaction } from "../../../storage/engine/database.ts";
import { findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import { insertImportedReviewEntry } from "../../../storage/tables/forge/issues/timeline.ts";
import { findImportedPull } from "../../../storage/tables/forge/issues/issues.ts";
import { insertReviewLine } from "../../../storage/tables/forge/pulls/review-lines.ts";
import { insertImportedReview, updateReview } from "../../../storage/tables/forge/pulls/reviews.ts";
import { createAuthors, type ImportTarget, type Written } from "./import-writer.ts";
import type { SourceReview } from "./source-reviews.ts";

/**
 * Adds the reviews of an imported pull request, in the order of the source, with their comments on lines. A review is a
 * verdict, so an account is its reviewer only where a site administrator imports; otherwise it has none. No imported review
 * counts for the rules of a branch.
 */
export async function writeReviews(
  tx: Transaction,
  { repository: { id: repositoryId }, actor }: ImportTarget,
  number: number,
  items: readonly SourceReview[],
): Promise<Written> {
  const pull = await findImportedPull(tx, repositoryId, number);
  if (pull?.number !== number) return { imported: 0, skipped: items.length };
  const findAuthor = createAuthors(tx, actor);
  const issueId = pull.id;
  for (const { author, state, lines, ...review } of items) {
    const { body, commitId, isStale, isDismissed, createdAt, updatedAt } = review;
    const { id: reviewId } = await insertImportedReview(tx, {
      issueId,
      reviewerId: actor.isAdmin ? await findPerson(tx, author) : undefined,
      originalAuthor: author,
      state,
      body,
      commitId,
      isStale,
      isDismissed,
      createdAt,
      submittedAt: createdAt,
      updatedAt,
    });
    const commentId = await insertImportedReviewEntry(tx, {
      issueId,
      reviewId,
      authorId: await findAuthor(author),
      originalAuthor: author,
      body,
      createdAt,
      updatedAt,
    });
    await updateReview(tx, reviewId, { commentId }, updatedAt);
    for (const { author: name, resolver, ...line } of lines)
      await insertReviewLine(tx, {
        ...line,
        issueId,
        reviewId,
        authorId: await findAuthor(name),
        originalAuthor: name,
        resolvedBy: resolver === undefined ? undefined : await findAuthor(resolver),
      });
  }
  return { imported: items.length, skipped: 0 };
}

async function findPerson(tx: Transaction, name: string) {
  const found = await findUserByName(tx, name);
  return found?.kind === "individual" ? found.id : undefined;
}
