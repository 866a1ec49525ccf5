import { hash } from "node:crypto";
import type { Database, Queries } from "../../../storage/engine/database.ts";
import { toUserId } from "../../../storage/tables/forge/ids.ts";
import { listAttachmentsOfComments } from "../../../storage/tables/forge/issues/attachments.ts";
import {
  insertComment,
  listComments,
  updateComment,
} from "../../../storage/tables/forge/issues/comments.ts";
import {
  findIssueById,
  insertIssue,
  insertMentions,
} from "../../../storage/tables/forge/issues/issues.ts";
import { listUsableLabels } from "../../../storage/tables/forge/repositories/labels.ts";
import type { ForgeCaller } from "../caller.ts";
import { toQueryRange } from "../notifications/query-time.ts";
import { AppError } from "../../errors.ts";
import { notFound } from "../refusals.ts";
import { type IssueChanges } from "./issue-changes.ts";
import { findAssignees } from "./assignable-users.ts";
import { assertMilestone, findMentionedIds, type IssueEdits } from "./issue-edits.ts";
import { type IssueSearchOptions, searchIssues } from "./search-issues.ts";
import type { CommentDetails, Emit } from "../events.ts";
import { listRepositoryIssues, type IssueListOptions } from "./list-issues.ts";
import type { IssueEdit, NewIssue } from "./issue-requests.ts";
import { assertRoomForText, openChangeable, openEntry } from "./changeable-comment.ts";
import {
  findPeople,
  loadCommentParts,
  loadIssueDetails,
  type IssueDetails,
} from "./issue-details.ts";
import { assertMayChange, assertUnlocked, canWrite, openIssue } from "./issue-access.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import type { GrantedRepository } from "../opened.ts";

/**
 * Limits of a list of comments: the reference has no pages here, and many concurrent responses must fit into memory.
 */
const COMMENTS_MOST = { count: 1_000, bytes: 8 * 1024 * 1024 } as const;

/** Issues and their comments, with the permissions of a caller on the repository. */
export type Issues = ReturnType<typeof createIssues>;

/** Creates the service of issues and comments. */
export function createIssues({
  db,
  emit,
  changes,
  edits,
}: {
  readonly db: Database;
  readonly changes: IssueChanges;
  readonly edits: IssueEdits;
  readonly emit: Emit;
}) {
  return {
    /** See `listRepositoryIssues`. */
    list: (opened: GrantedRepository, caller: ForgeCaller | undefined, query: IssueListOptions) =>
      listRepositoryIssues(db, opened, caller, query),

    /** See `searchIssues`. */
    search: (caller: ForgeCaller | undefined, query: IssueSearchOptions) =>
      searchIssues(db, caller, query),

    /** Throws `not_found`. */
    async get(
      opened: GrantedRepository,
      number: number,
      caller: ForgeCaller | undefined,
    ): Promise<IssueDetails> {
      return loadIssueDetails(db, opened, await openIssue(db, opened, number), caller?.user);
    },

    /** Opens an issue. Ignores assignees, labels and the due date of a caller without write access, as the reference does. */
    async create(
      place: GrantedRepository,
      caller: ForgeCaller,
      input: NewIssue,
    ): Promise<IssueDetails> {
      const { user } = caller;
      const text = `${input.title}\n\n${input.body}`;
      return db.transaction(async (tx) => {
        const opened = await reopenRepository(tx, place);
        const mayWrite = canWrite(opened);
        const assignees = mayWrite ? await findAssignees(tx, opened, input.assignees ?? []) : [];
        const mentioned = await findMentionedIds(tx, text);
        const issue = await insertIssue(tx, {
          repositoryId: opened.repository.id,
          authorId: user.id,
          title: input.title,
          body: input.body,
          ref: input.ref,
          isClosed: input.isClosed && mayWrite,
          dueAt: mayWrite ? input.dueAt : undefined,
        });
        await insertMentions(tx, issue.id, mentioned);
        const change = { owned: opened, issue, actor: user };
        await emit(tx, "issue", { ...change, action: "opened", text });
        if (!mayWrite) return loadIssueDetails(tx, opened, issue, user);
        const { repository } = opened;
        const ids = input.labelIds;
        const labels = await listUsableLabels(tx, repository, { ids, names: [] });
        await changes.changeLabels(tx, change, labels);
        await assertMilestone(tx, repository.id, input.milestoneId);
        const current = await changes.changeMilestone(tx, change, input.milestoneId);
        await changes.assign(tx, { ...change, issue: current }, assignees);
        return loadIssueDetails(tx, opened, current, user);
      });
    },

    edit,

    /** Sets the due date of an issue, or removes it with null. Throws `not_found`. */
    async setDeadline(
      opened: GrantedRepository,
      number: number,
      caller: ForgeCaller,
      dueAt: number | null,
    ): Promise<number | undefined> {
      return (await edit(opened, number, caller, { ...unchanged, dueAt })).issue.dueAt;
    },

    /** Lists the first comments that fit into one response; `since` leads to the rest. Throws `not_found`. */
    async listComments(
      owned: GrantedRepository,
      number: number,
      query: { readonly since: string; readonly before: string },
    ): Promise<{ readonly comments: readonly CommentDetails[]; readonly total: number }> {
      const issue = await openIssue(db, owned, number);
      const filter = { issueId: issue.id, ...toQueryRange(query) };
      const { comments, total } = await listComments(db, filter, COMMENTS_MOST);
      const people = await findPeople(
        db,
        comments.map(({ authorId }) => authorId),
      );
      const files = await listAttachmentsOfComments(
        db,
        comments.map(({ id }) => id),
      );
      const details = comments.map((comment) => ({
        owned,
        issue,
        comment,
        author: people.get(comment.authorId ?? toUserId(-1)),
        attachments: files.get(comment.id) ?? [],
      }));
      return { comments: details, total };
    },

    /** Throws `not_found`; `forbidden` for a locked issue. */
    async comment(
      opened: GrantedRepository,
      number: number,
      caller: ForgeCaller,
      body: string,
    ): Promise<CommentDetails> {
      const author = caller.user;
      return db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const issue = await openIssue(tx, owned, number);
        assertUnlocked(owned, issue);
        const comment = await insertComment(tx, { issueId: issue.id, authorId: author.id, body });
        await insertMentions(tx, issue.id, await findMentionedIds(tx, body));
        const current = (await findIssueById(tx, issue.id)) ?? issue;
        const details = { owned, comment, author, attachments: [] };
        await emit(tx, "comment", { action: "created", ...details, issue: current, actor: author });
        return { ...details, issue };
      });
    },

    /** Returns a comment; undefined for another entry of a timeline, as in the reference. Throws `not_found`. */
    getComment: (opened: GrantedRepository, id: number): Promise<CommentDetails | undefined> =>
      getComment(db, opened, id),

    /**
     * Replaces the text of a comment, also of one on a line. Refuses with `precondition_failed` when `ifMatch` names another text
     * than it has, with `unprocessable` as `assertRoomForText`. A comment of a pending review is changed without an event.
     */
    async editComment(
      opened: GrantedRepository,
      id: number,
      caller: ForgeCaller,
      { body, ifMatch }: { readonly body: string; readonly ifMatch?: string | undefined },
    ): Promise<CommentDetails> {
      return db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const { issue, comment: former, review } = await openChangeable(tx, owned, caller, id);
        assertMayChange(owned, former.authorId, caller.user);
        assertSameText(former.body, ifMatch);
        if (review !== undefined)
          await assertRoomForText(tx, review.id, { before: former.body, after: body });
        const comment = await updateComment(tx, former.id, body);
        if (comment === undefined) throw notFound();
        const details = { owned, issue, comment, ...(await loadCommentParts(tx, comment)) };
        if (review?.state === "pending") return details;
        await insertMentions(tx, comment.issueId, await findMentionedIds(tx, body));
        const changes = { body: { from: former.body } };
        const change = { ...details, actor: caller.user, changes };
        if (comment.body !== former.body)
          await emit(tx, "comment", { ...change, action: "edited" });
        return details;
      });
    },
  };

  /**
   * Edits an issue, for its author and callers with write access. Assignees, due date and milestone of a caller without
   * write access are ignored, as in the reference. Throws `not_found`.
   */
  async function edit(
    place: GrantedRepository,
    number: number,
    caller: ForgeCaller,
    requestedEdit: IssueEdit,
  ): Promise<IssueDetails> {
    const { user } = caller;
    return db.transaction(async (tx) => {
      const opened = await reopenRepository(tx, place);
      const before = await openIssue(tx, opened, number);
      assertMayChange(opened, before.authorId, user);
      const issue = await edits.apply(tx, { opened, before, actor: user }, requestedEdit);
      return loadIssueDetails(tx, opened, issue, user);
    });
  }
}

/** Refuses with `precondition_failed` a text whose SHA-256 is not that of the header `If-Match`. */
function assertSameText(text: string, ifMatch: string | undefined): void {
  if (ifMatch === undefined || ifMatch.trim() === "*") return;
  const current = `"${hash("sha256", text, "hex")}"`;
  if (ifMatch.split(",").some((tag) => tag.trim() === current)) return;
  throw new AppError("precondition_failed", "the text of the comment has changed");
}

async function getComment(
  db: Queries,
  owned: GrantedRepository,
  id: number,
): Promise<CommentDetails | undefined> {
  const { kind, issue, comment } = await openEntry(db, owned, owned.grant.caller, id);
  if (kind !== "comment") return undefined;
  return { owned, issue, comment, ...(await loadCommentParts(db, comment)) };
}

/** An edit that changes nothing. */
const unchanged: IssueEdit = {
  title: undefined,
  body: undefined,
  ref: undefined,
  isClosed: undefined,
  dueAt: undefined,
  milestoneId: undefined,
  assignees: undefined,
  ifVersion: undefined,
};
