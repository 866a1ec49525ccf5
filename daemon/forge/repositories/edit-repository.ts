import { type Database, isConflict, type Transaction } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { readBranches } from "../../../storage/git/refs.ts";
import type { RepositoryFiles } from "../../../storage/git/repository-files.ts";
import {
  findRepositoryById,
  findRepositoryByName,
  type ForgeRepository,
  updateRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { insertChore } from "../../../storage/tables/forge/repositories/moves.ts";
import {
  deleteRepositoryRedirect,
  putRepositoryRedirect,
} from "../../../storage/tables/forge/repositories/redirects.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { SettingsEdit } from "../../contract/forge/repositories/settings.ts";
import { AppError } from "../../errors.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { notFound } from "../refusals.ts";
import { assertReaches, findAccess } from "./access.ts";
import type { OwnedRepository, Emit } from "../events.ts";
import { refusing } from "./git-refusals.ts";
import { assertRepositoryName, toRepositoryPath } from "./names.ts";
import { enqueueCleanup, type FolderMoves, toHeadPath } from "./folder-moves.ts";
import { type MirrorIntervals, readMirrorInterval, setMirrorInterval } from "./mirror-interval.ts";
import { endPublic, isOfPrivateParent } from "./parents.ts";
import { changeSettings } from "./repository-settings.view.ts";

/** An edit of a repository. Undefined members stay unchanged. */
export interface RepositoryEdits {
  readonly name: string | undefined;
  readonly description: string | undefined;
  readonly website: string | undefined;
  readonly isPrivate: boolean | undefined;
  readonly isTemplate: boolean | undefined;
  readonly defaultBranch: string | undefined;
  readonly isArchived: boolean | undefined;
  readonly mirrorInterval?: string | undefined;
  readonly settings: SettingsEdit;
}

export interface EditRepositoryDeps {
  readonly db: Database;
  readonly git: Git;
  readonly files: RepositoryFiles;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly moves: FolderMoves;
  readonly emit: Emit;
  readonly enqueue: Enqueue;
  readonly intervals: MirrorIntervals;
}

/**
 * Edits a repository. The row changes first, then files and HEAD; recovery on startup completes the rest after a crash.
 * The former name redirects until the owner creates a repository with that name; a change of case adds no redirect.
 * Refuses with `unprocessable` an invalid or taken name, an occupied path, a default branch that does not exist in a
 * repository with branches, invalid settings, and a public fork of a private repository. Forks of a repository that
 * becomes private become private, too. A refusal changes nothing.
 */
export async function editRepository(
  deps: EditRepositoryDeps,
  { repository, owner }: OwnedRepository,
  edits: RepositoryEdits,
  actor: ForgeUser,
): Promise<void> {
  const { db, moves } = deps;
  if (edits.name !== undefined && edits.name !== repository.name)
    await assertFree(deps, { repository, owner }, edits.name);
  await assertBranch(deps, repository, edits.defaultBranch);
  const changed = await db
    .transaction((tx) => writeEdits(deps, tx, { repository, actor }, edits))
    .catch((error: unknown) => {
      const isTaken = isConflict(error) && error.constraint?.includes("lower_name") === true;
      throw isTaken && edits.name !== undefined ? taken(edits.name) : error;
    });
  if (changed.hasMoved) await moves.complete(repository.id);
  if (changed.hasHead) await moves.completeAt(toHeadPath(repository.id));
}

/** Refuses a name that is invalid or taken, in the database or on disk. */
async function assertFree(
  { db, files, moves }: EditRepositoryDeps,
  { repository, owner }: OwnedRepository,
  name: string,
): Promise<void> {
  assertRepositoryName(name);
  if (name.toLowerCase() === repository.lowerName) return;
  if ((await findRepositoryByName(db, owner.id, name)) !== undefined) throw taken(name);
  const place = toRepositoryPath(owner.name, name);
  await moves.completeAt(place);
  if (await files.exists(place))
    throw new AppError(
      "unprocessable",
      `repository files already exist [uname: ${owner.name}, name: ${name}]`,
    );
}

/** Refuses a missing branch. An empty repository may have any default branch, until its first push. */
async function assertBranch(
  { git, locate }: EditRepositoryDeps,
  repository: ForgeRepository,
  branch: string | undefined,
): Promise<void> {
  if (branch === undefined || branch === repository.defaultBranch || repository.isEmpty) return;
  const directory = await locate(repository);
  const { branches } = await refusing(() => readBranches(git, directory));
  if (!branches.includes(branch))
    throw new AppError("unprocessable", `branch does not exist [name: ${branch}]`);
}

async function writeEdits(
  { enqueue, emit, intervals }: EditRepositoryDeps,
  tx: Transaction,
  { repository, actor }: { readonly repository: ForgeRepository; readonly actor: ForgeUser },
  {
    name,
    defaultBranch,
    isArchived,
    mirrorInterval,
    settings: settingEdits,
    ...edits
  }: RepositoryEdits,
): Promise<{ readonly hasMoved: boolean; readonly hasHead: boolean }> {
  // The repository, its owner and the rights in it may have changed during the checks of names and branches.
  const former = await findRepositoryById(tx, repository.id);
  const owner = former && (await findUserById(tx, former.ownerId));
  if (former === undefined || owner === undefined) throw notFound();
  const access = await findAccess(tx, { repository: former, owner }, actor);
  assertReaches({ access }, "admin");
  if (edits.isPrivate === false && former.isPrivate && (await isOfPrivateParent(tx, former)))
    throw new AppError("unprocessable", "the fork of a private repository stays private");
  if (mirrorInterval !== undefined)
    await setMirrorInterval(tx, former, readMirrorInterval(mirrorInterval, intervals));
  const hasMoved = name !== undefined && name.toLowerCase() !== former.lowerName;
  const hasHead = defaultBranch !== undefined && defaultBranch !== former.defaultBranch;
  const settings = changeSettings(former.settings, settingEdits);
  const hasSettings = JSON.stringify(settings) !== JSON.stringify(former.settings);
  const hasArchived = isArchived !== undefined && isArchived !== (former.archivedAt !== undefined);
  const isOther =
    (name !== undefined && name !== former.name) ||
    hasHead ||
    hasSettings ||
    hasArchived ||
    Object.entries(edits).some(
      ([member, value]) => value !== undefined && value !== former[member as keyof typeof edits],
    );
  if (!isOther) return { hasMoved: false, hasHead: false };
  if (hasMoved) {
    await deleteRepositoryRedirect(tx, owner.id, name);
    await putRepositoryRedirect(tx, {
      ownerId: owner.id,
      name: former.name,
      repositoryId: former.id,
    });
  }
  const needsMove = hasMoved ? { needsMove: true } : {};
  await updateRepository(tx, former.id, {
    ...dropUndefined({ ...edits, name, defaultBranch }),
    ...needsMove,
    ...(hasSettings ? { settings } : {}),
    ...(hasArchived ? { archivedAt: isArchived ? tx.now : null } : {}),
    updatedAt: tx.now,
  });
  if (edits.isPrivate === true && !former.isPrivate)
    await endPublic(tx, former.id, { emit, actor });
  if (hasHead)
    await insertChore(tx, { kind: "head", path: toHeadPath(former.id), target: undefined });
  if (hasMoved || hasHead) await enqueueCleanup(enqueue, tx);
  const current = await findRepositoryById(tx, former.id);
  if (current !== undefined)
    await emit(tx, "repository.edited", { repository: current, owner, actor, former });
  return { hasMoved, hasHead };
}

function dropUndefined<T extends object>(object: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

const taken = (name: string) =>
  new AppError("unprocessable", `repo name is already taken [name: ${name}]`);
