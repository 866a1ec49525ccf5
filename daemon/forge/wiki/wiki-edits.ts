import type { Database } from "../../../storage/engine/database.ts";
import { type Git, GitError } from "../../../storage/git/git.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import type { ObjectQuarantine } from "../../../storage/git/object-quarantine.ts";
import { findObjects } from "../../../storage/git/objects.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  deleteWikiEdit,
  findWikiEdit,
  insertWikiEdit,
  listWikiEdits,
  type WikiEdit,
} from "../../../storage/tables/forge/repositories/wiki-edits.ts";
import { AppError } from "../../errors.ts";
import type { JobKind } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { Log } from "../../utilities/logging.ts";
import type { Emit } from "../events.ts";
import type { GrantedRepository } from "../opened.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import type { WikiFolders } from "./wiki-folders.ts";

/** Git reports a branch that has moved in its message only. */
const STALE = /cannot lock ref|but expected/;

/** A commit that changes a page, and what its event says. */
export interface NewWikiEdit extends Pick<WikiEdit, "action" | "page" | "comment" | "ref"> {
  readonly before: string | undefined;
  readonly commitId: string;
  readonly quarantine: ObjectQuarantine;
}

export interface WikiEditsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly git: Git;
  readonly folders: WikiFolders;
  readonly emit: Emit;
  readonly enqueue: Enqueue;
  readonly log: Log;
}

const KIND = "forge.wiki.edits";
/** Time after which an entry belongs to a process that has died: git moves one branch in milliseconds. */
const SURVIVAL_MS = 120_000;
/** Time until an entry of a wiki that cannot be read is looked at again, and until it is given up. */
const RETRY_MS = 3_600_000;
const GIVE_UP_MS = 7 * 24 * 3_600_000;

export type WikiEdits = ReturnType<typeof createWikiEdits>;

/**
 * Moves the branch of a wiki and publishes the change of the page. An entry of a journal precedes the move, so that a crash
 * between both loses no event.
 */
export function createWikiEdits({ db, clock, git, folders, emit, enqueue, log }: WikiEditsDeps) {
  return {
    /**
     * Returns false, and changes nothing, when the branch has moved since. Refuses as `reopenRepository` does a caller who
     * has lost the right. @throws GitError
     */
    async make(
      opened: GrantedRepository,
      actor: ForgeUser,
      directory: string,
      { before, quarantine, ...edit }: NewWikiEdit,
    ): Promise<boolean> {
      const id = await db.transaction(async (tx) => {
        const { repository } = await reopenRepository(tx, opened);
        await enqueue(tx, { kind: KIND, payload: null, key: "all", runAt: tx.now + SURVIVAL_MS });
        return insertWikiEdit(tx, { ...edit, repositoryId: repository.id, actorId: actor.id });
      });
      await quarantine.accept();
      if (!(await move(directory, edit, before))) {
        await deleteWikiEdit(db, id);
        return false;
      }
      await publish(id);
      return true;
    },

    /** Publishes the changes whose process died after it had moved the branch. `make` enqueues it. */
    job: {
      kind: KIND,
      async run() {
        const unread = new Set<number>();
        for (const edit of await listWikiEdits(db)) {
          if (edit.createdAt + SURVIVAL_MS > clock()) continue;
          // A wiki that cannot be read stops none of the others, and fails no job: it may be restored.
          await recover(edit).catch(async (error: unknown) => {
            if (!(await giveUp(edit, error))) unread.add(edit.id);
          });
        }
        const left = await listWikiEdits(db);
        if (left.length === 0) return;
        const dueTimes = left.map(({ id, createdAt }) =>
          unread.has(id) ? clock() + RETRY_MS : createdAt + SURVIVAL_MS,
        );
        const runAt = Math.min(...dueTimes);
        await db.transaction((tx) => enqueue(tx, { kind: KIND, payload: null, key: "all", runAt }));
      },
    } satisfies JobKind,
  };

  /** Forgets an entry that could not be read for days: it is not known whether its change was made. Returns whether it did. */
  async function giveUp({ id, repositoryId, createdAt }: WikiEdit, err: unknown): Promise<boolean> {
    const isOver = createdAt + GIVE_UP_MS <= clock();
    const details = { err, repository_id: repositoryId };
    if (isOver) log.error(details, "gave up the event of a wiki page");
    else log.warn(details, "failed to read a wiki, will retry");
    if (isOver) await deleteWikiEdit(db, id);
    return isOver;
  }

  async function recover(edit: WikiEdit): Promise<void> {
    if (await isMade(edit)) {
      log.info({ repository_id: edit.repositoryId }, "delivered the event of a wiki page");
      await publish(edit.id);
    } else await deleteWikiEdit(db, edit.id);
  }

  async function move(
    directory: string,
    { ref, commitId }: Pick<NewWikiEdit, "ref" | "commitId">,
    before = "0".repeat(commitId.length),
  ): Promise<boolean> {
    try {
      await git.run(["update-ref", ref, commitId, before], { directory });
      return true;
    } catch (error) {
      if (error instanceof GitError && error.code === "failed" && STALE.test(error.message))
        return false;
      throw error;
    }
  }

  async function publish(id: number): Promise<void> {
    await db.transaction(async (tx) => {
      const edit = await findWikiEdit(tx, id);
      // Another process has published it.
      if (edit === undefined) return;
      await deleteWikiEdit(tx, id);
      const repository = await findRepositoryById(tx, edit.repositoryId);
      const owner = repository && (await findUserById(tx, repository.ownerId));
      const actor = await findUserById(tx, edit.actorId);
      if (repository === undefined || owner === undefined || actor === undefined) return;
      const { action, page, comment } = edit;
      await emit(tx, "wiki", { repository, owner, actor, action, page, comment });
    });
  }

  /** Returns whether the branch has the commit of an entry. */
  async function isMade({ repositoryId, ref, commitId }: WikiEdit): Promise<boolean> {
    const repository = await findRepositoryById(db, repositoryId);
    if (repository === undefined) return false;
    const directory = await folders.locate(repository).catch((error: unknown) => {
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
    });
    if (directory === undefined) return false;
    const [commit, tip] = await findObjects(git, [commitId, ref], { directory });
    if (commit === undefined || tip === undefined) return false;
    return isAncestor(git, directory, commitId, tip.id);
  }
}
