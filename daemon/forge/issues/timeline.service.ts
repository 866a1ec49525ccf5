import type { Database, Queries } from "../../../storage/engine/database.ts";
import { listAttachmentsOfComments } from "../../../storage/tables/forge/issues/attachments.ts";
import {
  deleteComment,
  listCommentsOfRepository,
  listTextsByIds,
} from "../../../storage/tables/forge/issues/comments.ts";
import { listIssuesByIds, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import {
  type CommentId,
  type TeamId,
  type UserId,
  type IssueId,
  type MilestoneId,
  type TrackedTimeId,
  toUserId,
} from "../../../storage/tables/forge/ids.ts";
import {
  type ForgeMilestone,
  listMilestonesByIds,
} from "../../../storage/tables/forge/issues/milestones.ts";
import { listTimeline, type TimelineEntry } from "../../../storage/tables/forge/issues/timeline.ts";
import { deleteReviewLine } from "../../../storage/tables/forge/pulls/review-lines.ts";
import { listTrackedTimesByIds } from "../../../storage/tables/forge/issues/tracked-times.ts";
import { listTeamsByIds, type ForgeTeam } from "../../../storage/tables/forge/accounts/teams.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { toQueryRange } from "../notifications/query-time.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import type { OwnedRepository } from "../events.ts";
import type { GrantedRepository } from "../opened.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { openChangeable } from "./changeable-comment.ts";
import { assertMayChange, openIssue, readsKind } from "./issue-access.ts";
import { findPeople, loadCommentParts, type IssueDetails } from "./issue-details.ts";
import type { CommentDetails } from "../events.ts";
import type { Emit } from "../events.ts";
import { readIssues } from "./readable-issues.ts";
import type { TimeDetails } from "./tracked-times.service.ts";

/** A page of a timeline with the records that its view shows. */
export interface TimelineDetails {
  readonly owned: OwnedRepository;
  readonly issue: ForgeIssue;
  readonly entries: readonly TimelineEntry[];
  readonly people: ReadonlyMap<UserId, ForgeUser>;
  readonly milestones: ReadonlyMap<MilestoneId, ForgeMilestone>;
  /** Teams that were asked for a review. */
  readonly teams: ReadonlyMap<TeamId, ForgeTeam>;
  /** The comments that name the issue. */
  readonly refComments: ReadonlyMap<CommentId, CommentDetails>;
  /** The other issues of dependencies and references, if the caller may read them. */
  readonly dependents: ReadonlyMap<IssueId, IssueDetails>;
  /** Tracked times that still exist. */
  readonly times: ReadonlyMap<TrackedTimeId, TimeDetails>;
  readonly total: number;
}

/** A page of a list, and a range of the last change in RFC 3339, both ends included. */
interface TimelineOptions extends PageWindow {
  readonly since: string;
  readonly before: string;
}

/** Timelines of issues, and comments across issues. */
export type Timelines = ReturnType<typeof createTimelines>;

export function createTimelines({ db, emit }: { readonly db: Database; readonly emit: Emit }) {
  return {
    /** Lists comments and events of an issue, oldest first. Throws `not_found`. */
    async list(
      owned: GrantedRepository,
      number: number,
      caller: ForgeCaller | undefined,
      query: TimelineOptions,
    ): Promise<TimelineDetails> {
      const issue = await openIssue(db, owned, number);
      const filter = { issueId: issue.id, ...toQueryRange(query) };
      const reads = { reader: caller?.user, isPublicOnly: isPublicOnly(caller) };
      const { entries: all, total } = await listTimeline(
        db,
        { ...filter, ...reads },
        toRows(query),
      );
      const otherIds = all
        .flatMap(({ details, refIssueId }) => [details.dependentIssueId, refIssueId])
        .filter((id) => id !== undefined);
      const dependents = await readIssues(db, caller, otherIds);
      // Parts of a repository may be switched off, which the list does not know.
      const entries = all.filter(({ refIssueId: id }) => id === undefined || dependents.has(id));
      const people = await findPeople(
        db,
        entries.flatMap(({ authorId, details }) => [authorId, details.assigneeId]),
      );
      const milestoneIds = entries
        .flatMap(({ details }) => [details.milestoneId, details.oldMilestoneId])
        .filter((id) => id !== undefined);
      const milestones = await listMilestonesByIds(db, [...new Set(milestoneIds)]);
      const timeIds = entries
        .map(({ details }) => details.trackedTimeId)
        .filter((id) => id !== undefined);
      const tracked = await listTrackedTimesByIds(db, issue.id, timeIds);
      const own = tracked.length === 0 ? undefined : await readOwn(issue, caller);
      const times = new Map(
        own === undefined
          ? []
          : tracked.map((time): [TrackedTimeId, TimeDetails] => [
              time.id,
              { time, user: people.get(time.userId ?? toUserId(-1)), issue: own },
            ]),
      );
      const refComments = await readReferring(db, entries, dependents);
      const teams = await findTeams(
        db,
        entries.map(({ details }) => details.teamId),
      );
      return {
        owned,
        issue,
        entries,
        people,
        teams,
        milestones,
        dependents,
        refComments,
        times,
        total,
      };
    },

    /** Lists comments on the issues and pull requests of a repository that the caller may read, oldest first. */
    async listComments(
      owned: GrantedRepository,
      caller: ForgeCaller | undefined,
      query: TimelineOptions,
    ): Promise<{ readonly comments: readonly CommentDetails[]; readonly total: number }> {
      const readsIssues = await readsKind(db, owned, caller, { isPull: false });
      const readsPulls = await readsKind(db, owned, caller, { isPull: true });
      const isPull = readsIssues && readsPulls ? undefined : readsPulls;
      const filter = { repositoryId: owned.repository.id, isPull, ...toQueryRange(query) };
      const { comments, total } = await listCommentsOfRepository(db, filter, toRows(query));
      const people = await findPeople(
        db,
        comments.map(({ authorId }) => authorId),
      );
      const files = await listAttachmentsOfComments(
        db,
        comments.map(({ id }) => id),
      );
      const issues = await listIssuesByIds(
        db,
        comments.map(({ issueId }) => issueId),
      );
      const byId = new Map(issues.map((issue) => [issue.id, issue]));
      const details: CommentDetails[] = [];
      for (const comment of comments) {
        const issue = byId.get(comment.issueId);
        const author = people.get(comment.authorId ?? toUserId(-1));
        const attachments = files.get(comment.id) ?? [];
        if (issue !== undefined) details.push({ owned, issue, comment, author, attachments });
      }
      return { comments: details, total };
    },

    /**
     * Deletes a comment, also one on a line. The author and callers with write access may. Throws `not_found`. A comment of a
     * pending review is deleted without an event.
     */
    async removeComment(opened: GrantedRepository, id: number, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const { issue, comment, review } = await openChangeable(tx, owned, caller, id);
        assertMayChange(owned, comment.authorId, caller.user);
        const parts = await loadCommentParts(tx, comment);
        const change = { owned, issue, actor: caller.user, comment, ...parts };
        if (review?.state !== "pending")
          await emit(tx, "comment", { ...change, action: "deleted" });
        if (review === undefined) await deleteComment(tx, comment);
        else await deleteReviewLine(tx, comment.id);
      });
    },
  };

  async function readOwn(
    issue: ForgeIssue,
    caller: ForgeCaller | undefined,
  ): Promise<IssueDetails | undefined> {
    return (await readIssues(db, caller, [issue])).get(issue.id);
  }
}

/** Loads the comments that name the issue of these entries. */
async function readReferring(
  db: Queries,
  entries: readonly TimelineEntry[],
  issues: ReadonlyMap<IssueId, IssueDetails>,
): Promise<ReadonlyMap<CommentId, CommentDetails>> {
  const ids = entries.map(({ refCommentId }) => refCommentId).filter((id) => id !== undefined);
  const comments = await listTextsByIds(db, ids);
  const people = await findPeople(
    db,
    comments.map(({ authorId }) => authorId),
  );
  const found = new Map<CommentId, CommentDetails>();
  for (const comment of comments) {
    const place = issues.get(comment.issueId);
    if (place === undefined) continue;
    const author = people.get(comment.authorId ?? toUserId(-1));
    const { owned, issue } = place;
    found.set(comment.id, { owned, issue, comment, author, attachments: [] });
  }
  return found;
}

/** Returns the existing teams of these ids. */
async function findTeams(
  db: Queries,
  ids: readonly (TeamId | undefined)[],
): Promise<ReadonlyMap<TeamId, ForgeTeam>> {
  const named = new Set(ids.filter((id) => id !== undefined));
  return new Map((await listTeamsByIds(db, [...named])).map((team) => [team.id, team]));
}
