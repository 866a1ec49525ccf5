import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import { findComment } from "../../../storage/tables/forge/issues/comments.ts";
import { findIssueById } from "../../../storage/tables/forge/issues/issues.ts";
import {
  deleteReaction,
  type ForgeReaction,
  insertReaction,
  listReactions,
  type ReactionSubject,
} from "../../../storage/tables/forge/issues/reactions.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { reactionNames } from "../../contract/forge/issues/reactions.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { assertUnlocked, openIssue, openIssues } from "./issue-access.ts";
import { assertNotArchived } from "../repositories/open-repository.ts";
import { findPeople } from "./issue-details.ts";
import type { CommentPath, IssuePath } from "./issue-requests.ts";
import { toCommentId } from "../../../storage/tables/forge/ids.ts";

/** A reaction with its user; undefined once the account is deleted. */
export interface ReactionDetails {
  readonly reaction: ForgeReaction;
  readonly user: ForgeUser | undefined;
}

/** Reactions to issues and comments. */
export type Reactions = ReturnType<typeof createReactions>;

/** Creates the service. Every function throws `not_found` when the caller may not read the issue or comment. */
export function createReactions({ db }: { readonly db: Database }) {
  return {
    async list(
      path: IssuePath | CommentPath,
      caller: ForgeCaller | undefined,
      window: PageWindow,
    ): Promise<{ readonly reactions: readonly ReactionDetails[]; readonly total: number }> {
      const { subject } = await open(db, path, caller);
      const { reactions, total } = await listReactions(db, subject, toRows(window));
      const people = await findPeople(
        db,
        reactions.map(({ userId }) => userId),
      );
      return {
        reactions: reactions.map((reaction) => ({ reaction, user: people.get(reaction.userId) })),
        total,
      };
    },

    /**
     * Adds a reaction of the caller. Returns whether it is new. Refuses an unknown reaction, and one to a locked issue by
     * a caller without write access, with `forbidden`.
     */
    async add(
      path: IssuePath | CommentPath,
      caller: ForgeCaller,
      content: string,
    ): Promise<ReactionDetails & { readonly isNew: boolean }> {
      const added = await db.transaction(async (tx) => {
        const { subject } = await openForChange(tx, path, caller, content);
        return insertReaction(tx, { ...subject, userId: caller.user.id, content });
      });
      return { ...added, user: caller.user };
    },

    /** Removes a reaction of the caller; idempotent. */
    async remove(
      path: IssuePath | CommentPath,
      caller: ForgeCaller,
      content: string,
    ): Promise<void> {
      await db.transaction(async (tx) => {
        const { subject } = await openForChange(tx, path, caller, content);
        await deleteReaction(tx, { ...subject, userId: caller.user.id, content });
      });
    },
  };

  async function openForChange(
    tx: Transaction,
    path: IssuePath | CommentPath,
    caller: ForgeCaller,
    content: string,
  ) {
    const opened = await open(tx, path, caller);
    assertNotArchived(opened.owned);
    assertUnlocked(opened.owned, opened.issue);
    if (!(reactionNames as readonly string[]).includes(content))
      throw new AppError("forbidden", `'${content}' is not an allowed reaction`);
    return opened;
  }

  async function open(
    queries: Queries,
    path: IssuePath | CommentPath,
    caller: ForgeCaller | undefined,
  ) {
    const rest =
      "index" in path ? `/issues/${path.index}/reactions` : `/issues/comments/${path.id}/reactions`;
    const owned = await openIssues(queries, path, caller, rest);
    if ("index" in path) {
      const issue = await openIssue(queries, owned, path.index);
      const subject: ReactionSubject = { issueId: issue.id, commentId: undefined };
      return { owned, issue, subject };
    }
    const comment = await findComment(queries, owned.repository.id, toCommentId(path.id));
    const issue = comment && (await findIssueById(queries, comment.issueId));
    if (comment === undefined || issue === undefined) throw notFound();
    const subject: ReactionSubject = { issueId: issue.id, commentId: comment.id };
    return { owned, issue, subject };
  }
}
