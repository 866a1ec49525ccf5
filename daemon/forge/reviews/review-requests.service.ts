import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import {
  listMembersOfTeam,
  findTeamByName,
  type ForgeTeam,
} from "../../../storage/tables/forge/accounts/teams.ts";
import { findEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";
import { insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import {
  deleteReview,
  type ForgeReview,
  insertReviewRequest,
  listReviewRequests,
  listVerdicts,
} from "../../../storage/tables/forge/pulls/reviews.ts";
import { AppError } from "../../errors.ts";
import { type ForgeCaller, isSelf } from "../caller.ts";
import type { Emit, OwnedRepository } from "../events.ts";
import type { GrantedRepository } from "../opened.ts";
import { type OpenedPull, openPull } from "../pulls/open-pull.ts";
import { isContributor } from "../pulls/pull-ends.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import type { IsOfficial } from "./review-access.ts";
import { loadReview, type ReviewDetails } from "./reviews.service.ts";

/** Whom a request names: people by login or e-mail address, teams of the repository's organization by name. */
export interface Reviewers {
  readonly people: readonly string[];
  readonly teams: readonly string[];
}

/** Members of a team who are told that it was asked. */
const TEAM_MEMBERS_MAX = 100;

export type ReviewRequests = ReturnType<typeof createReviewRequests>;

/** Requests for reviews. */
export function createReviewRequests({
  db,
  emit,
  isOfficial,
}: {
  readonly db: Database;
  readonly emit: Emit;
  readonly isOfficial: IsOfficial;
}) {
  return {
    /**
     * Asks people and teams for a review and returns the new requests. Refuses with `not_found` an unknown name; with
     * `unprocessable` a caller who does not work on the repository, the author, and a user who may not read the pull request.
     */
    add: (
      opened: GrantedRepository,
      caller: ForgeCaller,
      index: number,
      reviewers: Reviewers,
    ): Promise<ReviewDetails[]> =>
      db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        return request(tx, owned, caller, await openPull(tx, owned, index), reviewers);
      }),

    /** Takes back requests. Refuses as `add` does. */
    remove: (
      opened: GrantedRepository,
      caller: ForgeCaller,
      index: number,
      reviewers: Reviewers,
    ): Promise<void> =>
      db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const found = await openPull(tx, owned, index);
        const people = await findPeople(tx, reviewers.people);
        const teams = await findTeams(tx, owned, reviewers.teams);
        // Everybody may decline.
        const isOwn = teams.length === 0 && people.every(({ id }) => isSelf(caller.user, id));
        if (!isOwn) await assertMayAsk(tx, owned, found, caller, people);
        for (const review of await listReviewRequests(tx, found.issue.id)) {
          const isNamed =
            people.some(({ id }) => id === review.reviewerId) ||
            teams.some(({ id }) => id === review.teamId);
          if (!isNamed) continue;
          await deleteReview(tx, review);
          await record(tx, owned, found, caller.user, review, true);
        }
      }),

    /** As `add`, in the transaction that opens the pull request. */
    request,
    addRequests,
  };

  async function request(
    tx: Transaction,
    owned: OwnedRepository,
    caller: ForgeCaller,
    found: OpenedPull,
    reviewers: Reviewers,
  ): Promise<ReviewDetails[]> {
    const people = await findPeople(tx, reviewers.people);
    const teams = await findTeams(tx, owned, reviewers.teams);
    if (people.length + teams.length > 0) await assertMayAsk(tx, owned, found, caller, people);
    for (const user of people) await assertReviewer(tx, owned, found, user);
    return addRequests(tx, owned, caller.user, found, { people, teams });
  }

  /** Adds requests to reviewers who may review, on behalf of a person, and returns the new ones. */
  async function addRequests(
    tx: Transaction,
    owned: OwnedRepository,
    actor: ForgeUser,
    found: OpenedPull,
    {
      people,
      teams,
    }: { readonly people: readonly ForgeUser[]; readonly teams: readonly ForgeTeam[] },
  ): Promise<ReviewDetails[]> {
    const { issue, pull } = found;
    const added: ReviewDetails[] = [];
    const add = async (review: ForgeReview | undefined) => {
      if (review === undefined) return;
      await record(tx, owned, found, actor, review, false);
      added.push(await loadReview(tx, { owned, issue, review }));
    };
    for (const user of people) {
      const official = await isOfficial(tx, owned, pull, user);
      const wanted = { issueId: issue.id, reviewerId: user.id, isOfficial: official };
      await add(await insertReviewRequest(tx, wanted));
    }
    for (const { id: teamId } of teams)
      await add(await insertReviewRequest(tx, { issueId: issue.id, teamId, isOfficial: true }));
    return added;
  }

  async function record(
    tx: Transaction,
    owned: OwnedRepository,
    { issue, pull }: OpenedPull,
    actor: ForgeUser,
    { reviewerId, teamId }: ForgeReview,
    isRemoved: boolean,
  ): Promise<void> {
    const details = {
      ...(reviewerId === undefined ? {} : { assigneeId: reviewerId }),
      ...(teamId === undefined ? {} : { teamId }),
      removed: isRemoved,
    };
    await insertEvents(tx, issue.id, actor.id, [{ kind: "review_request", details }]);
    const reviewer = reviewerId === undefined ? undefined : await findUserById(tx, reviewerId);
    const asked = await listAsked(tx, { reviewerId, teamId });
    const change = { owned, issue, pull, actor, reviewer, asked, isRemoved };
    await emit(tx, "review_request", change);
  }
}

async function listAsked(
  tx: Queries,
  { reviewerId, teamId }: Pick<ForgeReview, "reviewerId" | "teamId">,
): Promise<readonly UserId[]> {
  if (reviewerId !== undefined) return [reviewerId];
  if (teamId === undefined) return [];
  const { users } = await listMembersOfTeam(tx, teamId, { limit: TEAM_MEMBERS_MAX, offset: 0 });
  return users.map(({ id }) => id);
}

async function findPeople(db: Queries, names: readonly string[]): Promise<ForgeUser[]> {
  const people: ForgeUser[] = [];
  for (const name of names.filter((each) => each !== "")) {
    const email = name.includes("@") ? await findEmail(db, name) : undefined;
    const user =
      email === undefined ? await findUserByName(db, name) : await findUserById(db, email.userId);
    if (user === undefined) throw new AppError("not_found", `user doesn't exist: ${name}`);
    people.push(user);
  }
  return people;
}

async function findTeams(
  db: Queries,
  { owner }: OwnedRepository,
  names: readonly string[],
): Promise<ForgeTeam[]> {
  const teams: ForgeTeam[] = [];
  for (const name of names.filter((each) => each !== "")) {
    const team =
      owner.kind === "organization" ? await findTeamByName(db, owner.id, name) : undefined;
    if (team === undefined) throw new AppError("not_found", `team doesn't exist: ${name}`);
    teams.push(team);
  }
  return teams;
}

/** Those who work on the repository may ask, and the author may ask a reviewer again. */
async function assertMayAsk(
  db: Queries,
  owned: OwnedRepository,
  { issue }: OpenedPull,
  { user }: ForgeCaller,
  people: readonly ForgeUser[],
): Promise<void> {
  if (await isContributor(db, owned, user)) return;
  if (isSelf(user, issue.authorId)) {
    const verdicts = await listVerdicts(db, issue.id);
    if (people.every(({ id }) => verdicts.some(({ reviewerId }) => reviewerId === id))) return;
  }
  throw new AppError(
    "unprocessable",
    `Doer can't choose reviewer [user_id: ${user.id}, repo_name: ${owned.repository.name}, issue_id: ${issue.id}]`,
  );
}

async function assertReviewer(
  db: Queries,
  owned: OwnedRepository,
  { issue }: OpenedPull,
  user: ForgeUser,
): Promise<void> {
  const { repository } = owned;
  const at = `[user_id: ${user.id}, repo_name: ${repository.name}]`;
  if (user.kind !== "individual")
    throw new AppError("unprocessable", `Organization can't be added as reviewer ${at}`);
  if (user.id === issue.authorId)
    throw new AppError("unprocessable", `poster of pr can't be reviewer ${at}`);
  if (!reaches(await findAccess(db, owned, user, "repo.pulls"), "read"))
    throw new AppError("unprocessable", `Reviewer can't read ${at}`);
}
