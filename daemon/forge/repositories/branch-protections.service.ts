import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import {
  type BranchProtection,
  type BranchProtectionSettings,
  deleteBranchProtection,
  insertBranchProtection,
  listBranchProtections,
  updateBranchProtection,
} from "../../../storage/tables/forge/repositories/branch-protections.ts";
import {
  protectionFlags,
  RULES_MAX,
  type ProtectionEdit,
  protectionTeamLists,
  protectionTexts,
  protectionUserLists,
} from "../../contract/forge/repositories/branch-protections.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { Emit } from "../events.ts";
import { reopenRepository } from "./open-repository.ts";
import type { GrantedRepository, OpenedRepository } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { compileGlob } from "../../utilities/glob.ts";
import {
  assertListLength,
  findListedNames,
  findTeamIds,
  findUserIds,
  type ListedNames,
} from "./protection-lists.ts";
import { isPattern } from "./name-patterns.ts";
import { toFilePatterns } from "./protected-files.ts";

/** A rule with the names of the users and teams in its lists. */
export interface ProtectionDetails extends BranchProtection, ListedNames {}

/** A new rule keeps the branch from deletion and from all pushes: it changes by pull requests. */
const noSettings: BranchProtectionSettings = {
  flags: {},
  users: {},
  teams: {},
  texts: {},
  statusCheckContexts: [],
  requiredApprovals: 0,
};

/** Rules that protect branches. */
export type BranchProtections = ReturnType<typeof createBranchProtections>;

/** Creates the service. Every function that names a rule throws `not_found` when there is none. */
export function createBranchProtections({
  db,
  emit,
}: {
  readonly db: Database;
  readonly emit: Emit;
}) {
  return {
    async list({ repository }: GrantedRepository): Promise<ProtectionDetails[]> {
      return addNames(db, await listBranchProtections(db, repository.id));
    },

    async get({ repository }: GrantedRepository, name: string): Promise<ProtectionDetails> {
      return getRule(db, repository.id, name);
    },

    /**
     * Throws `invalid_argument` without a name, `forbidden` for a taken one, `unprocessable` as `edit` does, and when the
     * repository has the maximum number of rules.
     */
    async create(
      opened: GrantedRepository,
      caller: ForgeCaller,
      name: string,
      edit: ProtectionEdit,
    ): Promise<ProtectionDetails> {
      return db.transaction(async (tx) => {
        const place = await reopenRepository(tx, opened);
        const ruleName = name.trim();
        if (ruleName === "")
          throw new AppError("invalid_argument", "both rule_name and branch_name are empty");
        if (isPattern(ruleName)) assertPattern(ruleName);
        const { id } = place.repository;
        const settings = await applyEdit(tx, place, caller, noSettings, edit);
        const rules = await listBranchProtections(tx, id);
        if (rules.some((rule) => rule.ruleName === ruleName))
          throw new AppError("forbidden", "Branch protection already exist");
        if (rules.length >= RULES_MAX)
          throw new AppError("unprocessable", `a repository has at most ${RULES_MAX} rules`);
        const last = Math.max(0, ...rules.map(({ priority }) => priority));
        const priority = edit.priority ?? Math.min(last + 1, Number.MAX_SAFE_INTEGER);
        await insertBranchProtection(tx, id, { ruleName, priority, settings });
        await emit(tx, "repository.protected", place);
        return getRule(tx, id, ruleName);
      });
    },

    /** Throws `unprocessable` for malformed patterns, unknown users and teams, and settings that are not supported. */
    async edit(
      opened: GrantedRepository,
      caller: ForgeCaller,
      name: string,
      edit: ProtectionEdit,
    ): Promise<ProtectionDetails> {
      return db.transaction(async (tx) => {
        const place = await reopenRepository(tx, opened);
        const { id } = place.repository;
        const former = await getRule(tx, id, name);
        const settings = await applyEdit(tx, place, caller, former.settings, edit);
        const priority = edit.priority ?? former.priority;
        await updateBranchProtection(tx, id, { ruleName: name, priority, settings });
        await emit(tx, "repository.protected", place);
        return getRule(tx, id, name);
      });
    },

    /**
     * Gives rules the priorities from 1 on, in the order of their ids; others keep theirs. Throws `unprocessable` for an id that is
     * repeated or is not of a rule of the repository.
     */
    async order(opened: GrantedRepository, ids: readonly number[]): Promise<void> {
      await db.transaction(async (tx) => {
        const place = await reopenRepository(tx, opened);
        const rules = await listBranchProtections(tx, place.repository.id);
        const known = new Map(rules.map((rule) => [rule.id, rule]));
        const ordered = [...new Set(ids)].flatMap((id) => known.get(id) ?? []);
        if (ordered.length !== ids.length)
          throw new AppError("unprocessable", "[Ids]: each must be the id of a rule, once");
        for (const [index, { ruleName, settings }] of ordered.entries()) {
          const rule = { ruleName, settings, priority: index + 1 };
          await updateBranchProtection(tx, place.repository.id, rule);
        }
        await emit(tx, "repository.protected", place);
      });
    },

    async remove(opened: GrantedRepository, name: string): Promise<void> {
      await db.transaction(async (tx) => {
        const place = await reopenRepository(tx, opened);
        if (!(await deleteBranchProtection(tx, place.repository.id, name))) throw notFound();
        await emit(tx, "repository.protected", place);
      });
    },
  };

  async function getRule(
    queries: Queries,
    repositoryId: RepositoryId,
    name: string,
  ): Promise<ProtectionDetails> {
    const rules = await listBranchProtections(queries, repositoryId);
    const [details] = await addNames(
      queries,
      rules.filter(({ ruleName }) => ruleName === name),
    );
    if (details === undefined) throw notFound();
    return details;
  }

  async function addNames(
    queries: Queries,
    rules: readonly BranchProtection[],
  ): Promise<ProtectionDetails[]> {
    const userIds = rules.flatMap(({ settings }) => Object.values(settings.users).flat());
    const teamIds = rules.flatMap(({ settings }) => Object.values(settings.teams).flat());
    const names = await findListedNames(queries, userIds, teamIds);
    return rules.map((rule) => ({ ...rule, ...names }));
  }

  /** Returns the settings after an edit; absent fields keep their values. */
  async function applyEdit(
    tx: Transaction,
    { owner }: OpenedRepository,
    caller: ForgeCaller,
    former: BranchProtectionSettings,
    edit: ProtectionEdit,
  ): Promise<BranchProtectionSettings> {
    assertSupported(edit);
    const flags = { ...former.flags };
    for (const name of protectionFlags) flags[name] = edit[name] ?? flags[name] ?? false;
    const users = { ...former.users };
    for (const list of protectionUserLists) {
      const names = edit[list];
      if (names != null) users[list] = await findUserIds(tx, names, caller);
    }
    const teams = { ...former.teams };
    for (const list of protectionTeamLists) {
      const names = edit[list];
      if (names != null && owner.kind === "organization")
        teams[list] = await findTeamIds(tx, owner.id, names);
    }
    const texts = { ...former.texts };
    for (const name of protectionTexts) texts[name] = edit[name] ?? texts[name] ?? "";
    return {
      flags,
      users,
      teams,
      texts,
      statusCheckContexts: [...new Set(edit.status_check_contexts ?? former.statusCheckContexts)],
      requiredApprovals: edit.required_approvals ?? former.requiredApprovals,
    };
  }
}

/** Refuses with `unprocessable` settings that the daemon could not enforce. */
function assertSupported(edit: ProtectionEdit): void {
  if (edit.require_signed_commits === true)
    throw new AppError(
      "unprocessable",
      "require_signed_commits is not supported: this server does not verify signatures of commits",
    );
  if ((edit.required_approvals ?? 0) < 0)
    throw new AppError("unprocessable", "required_approvals must not be negative");
  const contexts = edit.status_check_contexts ?? [];
  assertListLength(contexts);
  const files = protectionTexts.flatMap((name) => toFilePatterns(edit[name] ?? ""));
  for (const pattern of [...contexts, ...files]) assertPattern(pattern);
}

function assertPattern(pattern: string): void {
  if (compileGlob(pattern) === undefined)
    throw new AppError("unprocessable", `invalid pattern: ${pattern}`);
}
