import {
  type Database,
  isConflict,
  type Queries,
  type Transaction,
} from "../../../storage/engine/database.ts";
import {
  deleteTagProtection,
  insertTagProtection,
  listTagProtections,
  type TagProtection,
  type TagProtectionFields,
  updateTagProtection,
} from "../../../storage/tables/forge/repositories/tag-protections.ts";
import type { TagProtectionEdit } from "../../contract/forge/repositories/tag-protections.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { GrantedRepository } from "../opened.ts";
import { orNotFound } from "../refusals.ts";
import { isTagPattern } from "./name-patterns.ts";
import { reopenRepository } from "./open-repository.ts";
import { findListedNames, findTeamIds, findUserIds, type ListedNames } from "./protection-lists.ts";

/** A rule with the names of the users and teams in its lists. */
export interface TagProtectionDetails extends TagProtection, ListedNames {}

/** Maximum number of rules of one repository: each push evaluates all of them. */
const RULES_MAX = 100;

const nothing: TagProtectionFields = { namePattern: "", userIds: [], teamIds: [] };

export type TagProtections = ReturnType<typeof createTagProtections>;

/** Rules that protect tags. Every function that names a rule throws `not_found` when there is none. */
export function createTagProtections({ db }: { readonly db: Database }) {
  return {
    async list({ repository }: GrantedRepository): Promise<TagProtectionDetails[]> {
      return addNames(db, await listTagProtections(db, repository.id));
    },

    get: ({ repository }: GrantedRepository, id: number): Promise<TagProtectionDetails> =>
      getRule(db, repository.id, id),

    /**
     * Refuses with `invalid_argument` a rule without a pattern, or without users and teams; with `forbidden` a pattern that
     * another rule has; with `unprocessable` an invalid pattern, unknown users and teams, and too many rules.
     */
    async create(
      opened: GrantedRepository,
      caller: ForgeCaller,
      edit: TagProtectionEdit,
    ): Promise<TagProtectionDetails> {
      return refusingTaken(() =>
        db.transaction(async (tx) => {
          const place = await reopenRepository(tx, opened);
          const { id: repositoryId } = place.repository;
          const fields = await applyEdit(tx, place, caller, nothing, edit);
          const rules = await listTagProtections(tx, repositoryId);
          if (rules.some(({ namePattern }) => namePattern === fields.namePattern)) throw taken();
          if (rules.length >= RULES_MAX)
            throw new AppError("unprocessable", `a repository has at most ${RULES_MAX} rules`);
          const { id } = await insertTagProtection(tx, repositoryId, fields);
          return getRule(tx, repositoryId, id);
        }),
      );
    },

    /** Changes a rule; members that are absent stay. Refuses as `create` does. */
    async edit(
      opened: GrantedRepository,
      caller: ForgeCaller,
      id: number,
      edit: TagProtectionEdit,
    ): Promise<TagProtectionDetails> {
      return refusingTaken(() =>
        db.transaction(async (tx) => {
          const place = await reopenRepository(tx, opened);
          const { id: repositoryId } = place.repository;
          const former = await getRule(tx, repositoryId, id);
          const fields = await applyEdit(tx, place, caller, former, edit);
          await updateTagProtection(tx, former, fields);
          return getRule(tx, repositoryId, id);
        }),
      );
    },

    async remove(opened: GrantedRepository, id: number): Promise<void> {
      await db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
        if (!(await deleteTagProtection(tx, repository.id, id))) orNotFound(undefined);
      });
    },
  };

  async function getRule(
    queries: Queries,
    repositoryId: TagProtection["repositoryId"],
    id: number,
  ): Promise<TagProtectionDetails> {
    const rules = await listTagProtections(queries, repositoryId);
    const found = rules.filter((rule) => rule.id === id);
    return orNotFound((await addNames(queries, found))[0]);
  }

  async function addNames(
    queries: Queries,
    rules: readonly TagProtection[],
  ): Promise<TagProtectionDetails[]> {
    const names = await findListedNames(
      queries,
      rules.flatMap(({ userIds }) => userIds),
      rules.flatMap(({ teamIds }) => teamIds),
    );
    return rules.map((rule) => ({ ...rule, ...names }));
  }

  async function applyEdit(
    tx: Transaction,
    { owner }: GrantedRepository,
    caller: ForgeCaller,
    former: TagProtectionFields,
    edit: TagProtectionEdit,
  ): Promise<TagProtectionFields> {
    const namePattern = edit.name_pattern?.trim() || former.namePattern;
    if (namePattern === "") throw new AppError("invalid_argument", "name_pattern are empty");
    if (!isTagPattern(namePattern))
      throw new AppError("unprocessable", `invalid pattern: ${namePattern}`);
    const { whitelist_usernames: users, whitelist_teams: teams } = edit;
    const userIds = users == null ? former.userIds : await findUserIds(tx, users, caller);
    const isOfTeams = teams != null && owner.kind === "organization";
    const teamIds = isOfTeams ? await findTeamIds(tx, owner.id, teams) : former.teamIds;
    if (userIds.length === 0 && teamIds.length === 0)
      throw new AppError(
        "invalid_argument",
        "both whitelist_usernames and whitelist_teams are empty",
      );
    return { namePattern, userIds, teamIds };
  }
}

const taken = () => new AppError("forbidden", "Tag protection already exist");

async function refusingTaken<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isConflict(error) ? taken() : error;
  }
}
