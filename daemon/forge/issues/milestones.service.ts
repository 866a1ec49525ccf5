import type { Database } from "../../../storage/engine/database.ts";
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
import { notFound } from "../refusals.ts";
import type { RepositoryPath } from "../repositories/repositories.service.ts";
import { assertMayWrite, openIssues } from "./issue-access.ts";

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
      return find(repository.id, path.id);
    },

    async create(
      path: RepositoryPath,
      caller: ForgeCaller,
      fields: MilestoneFields,
    ): Promise<ForgeMilestone> {
      const opened = await openIssues(db, path, caller, "/milestones");
      assertMayWrite(opened);
      return db.transaction((tx) => insertMilestone(tx, opened.repository.id, fields));
    },

    async edit(
      path: MilestonePath,
      caller: ForgeCaller,
      edit: MilestoneEdit,
    ): Promise<ForgeMilestone> {
      const opened = await openIssues(db, path, caller, toRest(path));
      assertMayWrite(opened);
      const { id } = await find(opened.repository.id, path.id);
      const milestone = await db.transaction(async (tx) => {
        const before = await findMilestone(tx, opened.repository.id, { id });
        if (before !== undefined) await updateMilestone(tx, before, toChanges(edit));
        return findMilestone(tx, opened.repository.id, { id });
      });
      if (milestone === undefined) throw notFound();
      return milestone;
    },

    async remove(path: MilestonePath, caller: ForgeCaller): Promise<void> {
      const opened = await openIssues(db, path, caller, toRest(path));
      assertMayWrite(opened);
      const { id } = await find(opened.repository.id, path.id);
      await db.transaction((tx) => deleteMilestone(tx, id));
    },
  };

  /** Finds a milestone by id, or else by title. */
  async function find(repositoryId: RepositoryId, name: string): Promise<ForgeMilestone> {
    const byId = /^\d{1,15}$/.test(name)
      ? await findMilestone(db, repositoryId, { id: toMilestoneId(name) })
      : undefined;
    const found = byId ?? (await findMilestone(db, repositoryId, { title: name }));
    if (found === undefined) throw notFound();
    return found;
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
