import type { Database, Queries } from "../../../storage/engine/database.ts";
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
import { type PageWindow, toRows } from "../page-window.ts";
import { orNotFound } from "../refusals.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { type GrantedRepository } from "../opened.ts";

/** A change of a milestone. Undefined members stay unchanged; null removes the due date. */
export interface MilestoneEdit {
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly isClosed: boolean | undefined;
  readonly dueAt: number | null | undefined;
}

/** Milestones of repositories. */
export type Milestones = ReturnType<typeof createMilestones>;

/** Creates the service of milestones; a milestone is named by its id or its title. */
export function createMilestones({ db }: { readonly db: Database }) {
  return {
    /** Lists milestones; `state` is `open` unless it is `closed` or `all`, and `name` is a part of the title. */
    async list(
      { repository }: GrantedRepository,
      { state, name, ...window }: PageWindow & { readonly state: string; readonly name: string },
    ): Promise<{ readonly milestones: readonly ForgeMilestone[]; readonly total: number }> {
      const isClosed = state === "all" ? undefined : state === "closed";
      return listMilestones(db, repository.id, { isClosed, term: name }, toRows(window));
    },

    get: ({ repository }: GrantedRepository, name: string) => find(db, repository.id, name),

    async create(opened: GrantedRepository, fields: MilestoneFields): Promise<ForgeMilestone> {
      return db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
        return insertMilestone(tx, repository.id, fields);
      });
    },

    async edit(
      opened: GrantedRepository,
      name: string,
      edit: MilestoneEdit,
    ): Promise<ForgeMilestone> {
      return db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
        const before = await find(tx, repository.id, name);
        await updateMilestone(tx, before, toChanges(edit));
        return orNotFound(await findMilestone(tx, repository.id, { id: before.id }));
      });
    },

    async remove(opened: GrantedRepository, name: string): Promise<void> {
      await db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
        await deleteMilestone(tx, (await find(tx, repository.id, name)).id);
      });
    },
  };

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

function toChanges({ title, description, isClosed, dueAt }: MilestoneEdit) {
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(isClosed === undefined ? {} : { isClosed }),
    ...(dueAt === undefined ? {} : { dueAt: dueAt ?? undefined }),
  };
}
