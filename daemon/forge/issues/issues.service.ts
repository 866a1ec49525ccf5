import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  findComment,
  insertComment,
  listComments,
  updateComment,
} from "../../../storage/tables/forge/issues/comments.ts";
import {
  findIssueById,
  type ForgeIssue,
  insertIssue,
  insertIssueLabels,
  insertMentions,
  type IssueChanges,
  listAssignees,
  replaceAssignees,
  setSubscription,
  updateIssue,
} from "../../../storage/tables/forge/issues/issues.ts";
import { findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { NotifyIssue } from "../notifications/issue-notifications.ts";
import { toQueryRange } from "../notifications/query-time.ts";
import { findMentioned } from "../notifications/notify.ts";
import { notFound } from "../refusals.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import type { OwnedRepository } from "../repositories/events.ts";
import type { RepositoryPath } from "../repositories/repositories.service.ts";
import type { IssueDeed, IssueHooks } from "./issue-hooks.ts";
import { listRepositoryIssues, type WantedIssues } from "./list-issues.ts";
import type { CommentPath, IssueEdit, IssuePath, NewIssue } from "./issue-requests.ts";
import { findPeople, seeIssue, type SeenComment, type SeenIssue } from "./seen-issue.ts";
import {
  assertMayChange,
  assertNotArchived,
  canWrite,
  openIssue,
  openIssues,
} from "./issue-access.ts";

/** What a list of comments shows: the reference has no pages here, and an answer must fit into memory many times. */
const COMMENTS_MOST = { count: 1_000, bytes: 8 * 1024 * 1024 } as const;

/** Issues and their comments, by the rights that a caller has in their repository. */
export type Issues = ReturnType<typeof createIssues>;

/** Issues and their comments. Every function refuses with `not_found` what the caller may not see. */
export function createIssues({
  db,
  notify,
  hooks,
}: {
  readonly db: Database;
  readonly notify: NotifyIssue;
  readonly hooks: IssueHooks;
}) {
  return {
    /** As `listRepositoryIssues` says. */
    list: (path: RepositoryPath, caller: ForgeCaller | undefined, wanted: WantedIssues) =>
      listRepositoryIssues(db, path, caller, wanted),

    async get(path: IssuePath, caller: ForgeCaller | undefined): Promise<SeenIssue> {
      const opened = await openIssues(db, path, caller, `/issues/${path.index}`);
      return seeIssue(db, opened, await openIssue(db, opened, path.index), caller?.user);
    },

    /** Opens an issue. Assignees, labels and a date are for whom may write; others' are left out, as in the reference. */
    async create(path: RepositoryPath, caller: ForgeCaller, wanted: NewIssue): Promise<SeenIssue> {
      const opened = await openIssues(db, path, caller, "/issues");
      assertNotArchived(opened);
      const mayWrite = canWrite(opened);
      const { user } = caller;
      const assignees = mayWrite ? await findAssignees(opened, wanted.assignees ?? []) : [];
      const text = `${wanted.title}\n\n${wanted.body}`;
      const mentioned = await findMentionedIds(text);
      return db.transaction(async (tx) => {
        const issue = await insertIssue(tx, {
          repositoryId: opened.repository.id,
          authorId: user.id,
          title: wanted.title,
          body: wanted.body,
          ref: wanted.ref,
          isClosed: wanted.isClosed && mayWrite,
          dueAt: mayWrite ? wanted.dueAt : undefined,
        });
        await replaceAssignees(tx, issue.id, assignees);
        if (mayWrite) await insertIssueLabels(tx, issue, wanted.labelIds);
        await insertMentions(tx, issue.id, mentioned);
        await notify(tx, { issue, actorId: user.id, text });
        const deed = { what: opened, issue, actor: user };
        await hooks.issue(tx, "issues", "opened", deed);
        if (assignees.length > 0) await hooks.issue(tx, "issue_assign", "assigned", deed);
        return seeIssue(tx, opened, issue, user);
      });
    },

    /** Changes an issue: its author may, and who may write; assigning is for those. */
    async edit(path: IssuePath, caller: ForgeCaller, wanted: IssueEdit): Promise<SeenIssue> {
      const opened = await openIssues(db, path, caller, `/issues/${path.index}`);
      const before = await openIssue(db, opened, path.index);
      const { user } = caller;
      assertMayChange(opened, before.authorId, user);
      const mayAssign = wanted.assignees !== undefined && canWrite(opened);
      const assignees = mayAssign ? await findAssignees(opened, wanted.assignees) : undefined;
      const mentioned = await findMentionedIds(wanted.body ?? "");
      return db.transaction(async (tx) => {
        const issue = await updateIssue(
          tx,
          before.id,
          toChanges(wanted, before, tx.now),
          wanted.ifVersion,
        );
        if (issue === undefined) {
          if ((await findIssueById(tx, before.id)) === undefined) throw notFound();
          throw new AppError("conflict", "the issue is already changed");
        }
        await insertMentions(tx, issue.id, mentioned);
        const deed = { what: opened, issue, actor: user };
        await publishEdits(tx, deed, before);
        if (assignees !== undefined) await assign(tx, deed, assignees);
        if (issue.isClosed !== before.isClosed) {
          await notify(tx, { issue, actorId: user.id });
          await hooks.issue(tx, "issues", issue.isClosed ? "closed" : "reopened", deed);
        }
        return seeIssue(tx, opened, issue, user);
      });
    },

    /** The first comments, as many as fit into one answer; `since` has the others. */
    async listComments(
      path: IssuePath,
      caller: ForgeCaller | undefined,
      wanted: { readonly since: string; readonly before: string },
    ): Promise<{ readonly comments: readonly SeenComment[]; readonly total: number }> {
      const what = await openIssues(db, path, caller, `/issues/${path.index}/comments`);
      const issue = await openIssue(db, what, path.index);
      const filter = { issueId: issue.id, ...toQueryRange(wanted) };
      const { comments, total } = await listComments(db, filter, COMMENTS_MOST);
      const people = await findPeople(
        db,
        comments.map(({ authorId }) => authorId),
      );
      const seen = comments.map((comment) => ({
        what,
        issue,
        comment,
        author: people.get(comment.authorId ?? -1),
      }));
      return { comments: seen, total };
    },

    async comment(path: IssuePath, caller: ForgeCaller, body: string): Promise<SeenComment> {
      const what = await openIssues(db, path, caller, `/issues/${path.index}/comments`);
      assertNotArchived(what);
      const issue = await openIssue(db, what, path.index);
      const author = caller.user;
      const mentioned = await findMentionedIds(body);
      const comment = await db.transaction(async (tx) => {
        const made = await insertComment(tx, { issueId: issue.id, authorId: author.id, body });
        await insertMentions(tx, issue.id, mentioned);
        await notify(tx, { issue, actorId: author.id, text: body });
        const today = (await findIssueById(tx, issue.id)) ?? issue;
        const deed = { what, issue: today, actor: author, comment: made, author };
        await hooks.comment(tx, "created", deed);
        return made;
      });
      return { what, issue, comment, author };
    },

    getComment,

    async editComment(path: CommentPath, caller: ForgeCaller, body: string): Promise<SeenComment> {
      const seen = await getComment(path, caller);
      assertNotArchived(seen.what);
      const access = await findAccess(db, seen.what, caller.user);
      assertMayChange({ ...seen.what, access }, seen.comment.authorId, caller.user);
      const mentioned = await findMentionedIds(body);
      const comment = await db.transaction(async (tx) => {
        const updated = await updateComment(tx, seen.comment.id, body);
        if (updated === undefined) return undefined;
        await insertMentions(tx, updated.issueId, mentioned);
        const changes = { body: { from: seen.comment.body } };
        const deed = { ...seen, actor: caller.user, comment: updated, changes };
        if (updated.body !== seen.comment.body) await hooks.comment(tx, "edited", deed);
        return updated;
      });
      if (comment === undefined) throw notFound();
      return { ...seen, comment };
    },
  };

  async function getComment(
    path: CommentPath,
    caller: ForgeCaller | undefined,
  ): Promise<SeenComment> {
    const what = await openIssues(db, path, caller, `/issues/comments/${path.id}`);
    const comment = await findComment(db, what.repository.id, path.id);
    const issue = comment && (await findIssueById(db, comment.issueId));
    if (comment === undefined || issue === undefined) throw notFound();
    const author = (await findPeople(db, [comment.authorId])).get(comment.authorId ?? -1);
    return { what, issue, comment, author };
  }

  async function findMentionedIds(text: string): Promise<number[]> {
    return (await findMentioned(db, text)).map(({ id }) => id);
  }

  /** The people of these names. Refuses with `unprocessable` a name that nobody has, or who may not read the repository. */
  async function findAssignees(what: OwnedRepository, names: readonly string[]): Promise<number[]> {
    const ids: number[] = [];
    for (const name of names) {
      const user = await findUserByName(db, name);
      const isOne =
        user?.kind === "individual" && reaches(await findAccess(db, what, user), "read");
      if (user === undefined || !isOne)
        throw new AppError(
          "unprocessable",
          `Assignee does not exist: [name: user does not exist [uid: 0, name: ${name}]]`,
        );
      ids.push(user.id);
    }
    return ids;
  }

  /** Publishes the new title and the new body as two events, the first with the former body, as Gitea does. */
  async function publishEdits(tx: Transaction, deed: IssueDeed, before: ForgeIssue): Promise<void> {
    const { issue } = deed;
    if (issue.title !== before.title)
      await hooks.issue(tx, "issues", "edited", {
        ...deed,
        issue: { ...issue, body: before.body },
        changes: { title: { from: before.title } },
      });
    if (issue.body !== before.body)
      await hooks.issue(tx, "issues", "edited", {
        ...deed,
        changes: { body: { from: before.body } },
      });
  }

  async function assign(
    tx: Transaction,
    deed: IssueDeed,
    assignees: readonly number[],
  ): Promise<void> {
    const { issue } = deed;
    const before = await listAssignees(tx, issue.id);
    await replaceAssignees(tx, issue.id, assignees);
    const added = assignees.filter((id) => !before.includes(id));
    for (const id of added) await setSubscription(tx, issue.id, id, true);
    if (added.length > 0) {
      await notify(tx, { issue, actorId: deed.actor.id, onlyTo: added });
      await hooks.issue(tx, "issue_assign", "assigned", deed);
    } else if (before.some((id) => !assignees.includes(id)))
      await hooks.issue(tx, "issue_assign", "unassigned", deed);
  }
}

function toChanges(wanted: IssueEdit, before: ForgeIssue, now: number): IssueChanges {
  const { title, body, ref, isClosed, dueAt } = wanted;
  return {
    ...(title === undefined ? {} : { title }),
    ...(body === undefined ? {} : { body }),
    ...(ref === undefined ? {} : { ref }),
    ...(isClosed === undefined || isClosed === before.isClosed
      ? {}
      : { isClosed, closedAt: isClosed ? now : undefined }),
    ...(dueAt === undefined ? {} : { dueAt: dueAt ?? undefined }),
  };
}
