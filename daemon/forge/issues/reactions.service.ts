import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
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
import type { GrantedRepository } from "../opened.ts";
import { assertUnlocked, openIssueOrComment } from "./issue-access.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { findPeople } from "./issue-details.ts";
import type { IssueOrComment } from "./issue-requests.ts";

/** A reaction with its user; undefined once the account is deleted. */
export interface ReactionDetails {
  readonly reaction: ForgeReaction;
  readonly user: ForgeUser | undefined;
}

/** Reactions to issues and comments. */
export type Reactions = ReturnType<typeof createReactions>;

/** Creates the service. Every function throws `not_found` for a missing issue or comment. */
export function createReactions({ db }: { readonly db: Database }) {
  return {
    async list(
      opened: GrantedRepository,
      at: IssueOrComment,
      window: PageWindow,
    ): Promise<{ readonly reactions: readonly ReactionDetails[]; readonly total: number }> {
      const { subject } = await open(db, opened, at);
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
      opened: GrantedRepository,
      at: IssueOrComment,
      caller: ForgeCaller,
      content: string,
    ): Promise<ReactionDetails & { readonly isNew: boolean }> {
      const added = await db.transaction(async (tx) => {
        const { subject } = await openForChange(tx, opened, at, content);
        return insertReaction(tx, { ...subject, userId: caller.user.id, content });
      });
      return { ...added, user: caller.user };
    },

    /** Removes a reaction of the caller; idempotent. */
    async remove(
      opened: GrantedRepository,
      at: IssueOrComment,
      caller: ForgeCaller,
      content: string,
    ): Promise<void> {
      await db.transaction(async (tx) => {
        const { subject } = await openForChange(tx, opened, at, content);
        await deleteReaction(tx, { ...subject, userId: caller.user.id, content });
      });
    },
  };

  async function openForChange(
    tx: Transaction,
    opened: GrantedRepository,
    at: IssueOrComment,
    content: string,
  ) {
    const owned = await reopenRepository(tx, opened);
    const found = await open(tx, owned, at);
    assertUnlocked(owned, found.issue);
    if (!(reactionNames as readonly string[]).includes(content))
      throw new AppError("forbidden", `'${content}' is not an allowed reaction`);
    return found;
  }

  async function open(queries: Queries, owned: GrantedRepository, at: IssueOrComment) {
    const { issue, comment } = await openIssueOrComment(queries, owned, at);
    const subject: ReactionSubject = { issueId: issue.id, commentId: comment?.id };
    return { issue, subject };
  }
}
