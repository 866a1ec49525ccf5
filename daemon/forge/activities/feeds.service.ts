import type { Database } from "../../../storage/engine/database.ts";
import {
  type ForgeActivity,
  listActivitiesByIds,
} from "../../../storage/tables/forge/activities/activities.ts";
import {
  type Contributions,
  type FeedSource,
  listContributions,
  listFeed,
} from "../../../storage/tables/forge/activities/feeds.ts";
import { listAttachmentsOfComments } from "../../../storage/tables/forge/issues/attachments.ts";
import { listCommentsByIds } from "../../../storage/tables/forge/issues/comments.ts";
import { type ForgeIssue, listIssuesByIds } from "../../../storage/tables/forge/issues/issues.ts";
import { findRepositoriesByIds } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { isPublicOnly, toReader } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import type { GrantedOrganization, GrantedRepository, GrantedTeam } from "../opened.ts";
import { findPeople } from "../issues/issue-details.ts";
import type { CommentDetails } from "../events.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { createRepositoryLists } from "../repositories/repository-lists.service.ts";
import { getVisibleAccount } from "../accounts/users.service.ts";
import type { RepositoryDetails } from "../repositories/repository.view.ts";
import {
  type UserId,
  type TeamId,
  toUserId,
  toIssueId,
  toCommentId,
} from "../../../storage/tables/forge/ids.ts";

/** A page of a feed. `date` is a day such as `2026-11-23`, in UTC; any other text is ignored. */
export interface FeedWindow extends PageWindow {
  readonly date: string;
}

/** An activity with the records that its view shows. */
export interface ActivityDetails {
  readonly activity: ForgeActivity;
  /** The account in whose feed it is. */
  readonly receiverId: UserId;
  readonly actor: ForgeUser;
  readonly owned: RepositoryDetails;
  readonly issue: ForgeIssue | undefined;
  readonly comment: CommentDetails | undefined;
}

export interface FeedPage {
  readonly activities: readonly ActivityDetails[];
  readonly total: number;
}

/**
 * Feeds of activities. They contain only activities in repositories, and in parts of them, that the caller may read
 * now, and none of a user who hides their activity from the caller.
 */
export type Feeds = ReturnType<typeof createFeeds>;

/** The range of the calendar of contributions: a year, and the rest of its first week. */
const HEATMAP_MS = (366 + 7) * 86_400_000;
const DAY_MS = 86_400_000;

export function createFeeds({
  db,
  clock,
}: {
  readonly db: Database;
  readonly clock: () => number;
}) {
  const lists = createRepositoryLists({ db });
  return {
    /**
     * Returns a page of the account's own activities and those in repositories that it watched at the time; for an
     * organization, of the activities in its repositories. Throws `not_found` for an account that is hidden from the
     * caller.
     */
    async ofUser(
      name: string,
      window: FeedWindow & { readonly isOnlyPerformed: boolean },
      caller: ForgeCaller | undefined,
    ): Promise<FeedPage> {
      const account = await getVisibleAccount(db, name, caller);
      if (hidesActivity(account, caller)) return { activities: [], total: 0 };
      const { id } = account;
      const source = window.isOnlyPerformed ? { performedBy: id } : { receivedBy: id };
      return list(source, window, caller, { receiverId: id });
    },

    /** Returns a page of the activities in a repository. */
    ofRepository: (
      { repository }: GrantedRepository,
      window: FeedWindow,
      caller: ForgeCaller | undefined,
    ): Promise<FeedPage> => list({ repositoryId: repository.id }, window, caller),

    /** Returns a page of the activities in repositories of an organization. */
    ofOrganization: (
      { organization: { id } }: GrantedOrganization,
      window: FeedWindow,
      caller: ForgeCaller | undefined,
    ): Promise<FeedPage> => list({ receivedBy: id }, window, caller, { receiverId: id }),

    /** Returns a page of the activities in repositories that a team has now. */
    ofTeam: (
      { team, organization: { id } }: GrantedTeam,
      window: FeedWindow,
      caller: ForgeCaller,
    ): Promise<FeedPage> =>
      list({ receivedBy: id }, window, caller, { receiverId: id, teamId: team.id }),

    /**
     * Returns the numbers of an account's activities in the last year; for an organization, of those in its
     * repositories. The list is empty for an account that hides its activity from the caller. Throws `not_found` for a
     * hidden account.
     */
    async getHeatmap(
      name: string,
      caller: ForgeCaller | undefined,
    ): Promise<readonly Contributions[]> {
      const account = await getVisibleAccount(db, name, caller);
      if (hidesActivity(account, caller)) return [];
      const { id, kind } = account;
      return listContributions(db, {
        source: kind === "organization" ? { receivedBy: id } : { performedBy: id },
        reader: caller?.user,
        isPublicOnly: isPublicOnly(caller),
        since: clock() - HEATMAP_MS,
      });
    },
  };

  async function list(
    source: FeedSource,
    window: FeedWindow,
    caller: ForgeCaller | undefined,
    { receiverId, teamId }: { readonly receiverId?: UserId; readonly teamId?: TeamId } = {},
  ): Promise<FeedPage> {
    const filter = {
      source,
      reader: caller?.user,
      isPublicOnly: isPublicOnly(caller),
      teamId,
      ...toDay(window.date),
    };
    const { ids, total } = await listFeed(db, filter, toRows(window));
    const activities = await listActivitiesByIds(db, ids);
    return { activities: await complete(activities, receiverId, caller), total };
  }

  /** Skips activities whose actor, repository, issue or comment was deleted since the list was read. */
  async function complete(
    activities: readonly ForgeActivity[],
    receiverId: UserId | undefined,
    caller: ForgeCaller | undefined,
  ): Promise<ActivityDetails[]> {
    const repositoryIds = new Set(activities.map(({ repositoryId }) => repositoryId));
    const repositories = new Map(
      (await lists.toDetails(await findRepositoriesByIds(db, [...repositoryIds]), caller)).map(
        (details) => [details.repository.id, details] as const,
      ),
    );
    const issues = toMap(
      await listIssuesByIds(db, [...new Set(activities.flatMap(({ issueId }) => issueId ?? []))]),
    );
    const commentIds = activities.flatMap(({ commentId }) => commentId ?? []);
    const comments = toMap(await listCommentsByIds(db, commentIds));
    const files = await listAttachmentsOfComments(db, commentIds);
    const people = await findPeople(db, [
      ...activities.map(({ actorId }) => actorId),
      ...[...comments.values()].map(({ authorId }) => authorId),
    ]);
    return activities.flatMap((activity) => {
      const owned = repositories.get(activity.repositoryId);
      const actor = people.get(activity.actorId);
      const issue = issues.get(activity.issueId ?? toIssueId(-1));
      const comment = comments.get(activity.commentId ?? toCommentId(-1));
      const isGone =
        (activity.issueId !== undefined && issue === undefined) ||
        (activity.commentId !== undefined && comment === undefined);
      if (owned === undefined || actor === undefined || isGone) return [];
      const author = people.get(comment?.authorId ?? toUserId(-1));
      const commentDetails = issue &&
        comment && { owned, issue, comment, author, attachments: files.get(comment.id) ?? [] };
      return [
        {
          activity,
          receiverId: receiverId ?? actor.id,
          actor,
          owned,
          issue,
          comment: commentDetails,
        },
      ];
    });
  }
}

/** Returns whether an account hides its activity from the caller. Itself and site administrators always see it. */
function hidesActivity(
  { id, keepActivityPrivate }: ForgeUser,
  caller: ForgeCaller | undefined,
): boolean {
  const reader = toReader(caller);
  return keepActivityPrivate && reader?.isAdmin !== true && reader?.id !== id;
}

function toMap<T extends { readonly id: number }>(rows: readonly T[]): ReadonlyMap<T["id"], T> {
  return new Map(rows.map((row) => [row.id, row]));
}

/** Returns the range of a day, in epoch milliseconds. */
function toDay(date: string): { readonly since?: number; readonly until?: number } {
  const since = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN;
  return Number.isNaN(since) ? {} : { since, until: since + DAY_MS };
}
