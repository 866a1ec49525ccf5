import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import { type RepositoryId, toMilestoneId } from "../../../storage/tables/forge/ids.ts";
import {
  deleteMilestone,
  findMilestone,
  type ForgeMilestone,
  insertMilestone,
  listMilestones,
  type MilestoneFields,
  updateMilestone,
} from "../../../storage/tables/forge/issues/milestones.ts";
import type { ForgeCaller } from "../caller.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { orNotFound } from "../refusals.ts";
import type { OwnedRepository } from "../repositories/events.ts";
import type { RepositoryPath } from "../repositories/repositories.service.ts";
import { assertMayWrite, openIssues, openIssuesToChange } from "./issue-access.ts";

/** The path of a milestone; `id` is its id or its title. */
export interface MilestonePath extends RepositoryPath {
  readonly id: string;
}

/** A change of a milestone. Undefined members stay unchanged; null removes the due date. */
export interface MilestoneEdit {
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly isClosed: boolean | undefined;
  readonly dueAt: number | null | undefined;
}

/** Milestones of repositories. */
export type Milestones = ReturnType<typeof createMilestones>;

/**
 * Creates the service of milestones. Every function throws `not_found` when the caller may not read the repository;
 * changes throw `forbidden` unless the caller may write to the issues of the repository.
 */
export function createMilestones({ db }: { readonly db: Database }) {
  return {
    /** Lists milestones; `state` is `open` unless it is `closed` or `all`, and `name` is a part of the title. */
    async list(
      path: RepositoryPath,
      caller: ForgeCaller | undefined,
      { state, name, ...window }: PageWindow & { readonly state: string; readonly name: string },
    ): Promise<{ readonly milestones: readonly ForgeMilestone[]; readonly total: number }> {
      const { repository } = await openIssues(db, path, caller, "/milestones");
      const isClosed = state === "all" ? undefined : state === "closed";
      return listMilestones(db, repository.id, { isClosed, term: name }, toRows(window));
    },

    async get(path: MilestonePath, caller: ForgeCaller | undefined): Promise<ForgeMilestone> {
      const { repository } = await openIssues(db, path, caller, toRest(path));
      return find(db, repository.id, path.id);
    },

    async create(
      path: RepositoryPath,
      caller: ForgeCaller,
      fields: MilestoneFields,
    ): Promise<ForgeMilestone> {
      return db.transaction(async (tx) => {
        const { repository } = await openForChange(tx, path, caller, "/milestones");
        return insertMilestone(tx, repository.id, fields);
      });
    },

    async edit(
      path: MilestonePath,
      caller: ForgeCaller,
      edit: MilestoneEdit,
    ): Promise<ForgeMilestone> {
      return db.transaction(async (tx) => {
        const { repository } = await openForChange(tx, path, caller, toRest(path));
        const before = await find(tx, repository.id, path.id);
        await updateMilestone(tx, before, toChanges(edit));
        return orNotFound(await findMilestone(tx, repository.id, { id: before.id }));
      });
    },

    async remove(path: MilestonePath, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const { repository } = await openForChange(tx, path, caller, toRest(path));
        await deleteMilestone(tx, (await find(tx, repository.id, path.id)).id);
      });
    },
  };

  async function openForChange(
    tx: Transaction,
    path: RepositoryPath,
    caller: ForgeCaller,
    rest: string,
  ): Promise<OwnedRepository> {
    const opened = await openIssuesToChange(tx, path, caller, rest);
    assertMayWrite(opened);
    return opened;
  }

  /** Finds a milestone by id, or else by title. */
  async function find(
    queries: Queries,
    repositoryId: RepositoryId,
    name: string,
  ): Promise<ForgeMilestone> {
    const byId = /^\d{1,15}$/.test(name)
      ? await findMilestone(queries, repositoryId, { id: toMilestoneId(name) })
      : undefined;
    return orNotFound(byId ?? (await findMilestone(queries, repositoryId, { title: name })));
  }
}

const toRest = ({ id }: MilestonePath) => `/milestones/${encodeURIComponent(id)}`;

function toChanges({ title, description, isClosed, dueAt }: MilestoneEdit) {
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(isClosed === undefined ? {} : { isClosed }),
    ...(dueAt === undefined ? {} : { dueAt: dueAt ?? undefined }),
  };
}
