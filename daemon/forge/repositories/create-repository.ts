import {
  type Database,
  isConflict,
  type Queries,
  type Transaction,
} from "../../../storage/engine/database.ts";
import { listRepositoryTeamMembers } from "../../../storage/tables/forge/accounts/team-access.ts";
import {
  COLLABORATOR_ADMIN,
  putCollaborator,
} from "../../../storage/tables/forge/repositories/collaborators.ts";
import { deleteRepositoryRedirect } from "../../../storage/tables/forge/repositories/redirects.ts";
import { countRepositoriesOf } from "../../../storage/tables/forge/repositories/transfers.ts";
import { insertLabels } from "../../../storage/tables/forge/repositories/labels.ts";
import { insertWatch } from "../../../storage/tables/forge/repositories/watches.ts";
import type { CommitPerson } from "../../../storage/git/initial-commit.ts";
import type { RepositoryFiles } from "../../../storage/git/repository-files.ts";
import {
  deleteRepository,
  findRepositoryById,
  findRepositoryByName,
  type ForgeRepository,
  insertRepository,
  type NewForgeRepository,
  type ObjectFormat,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { userNotFound } from "../refusals.ts";
import { findAccess, reaches } from "./access.ts";
import type { OwnedRepository, Emit } from "../events.ts";
import {
  assertReadme,
  createFirstFiles,
  getLabelSet,
  type RepositoryTemplates,
  type TemplateLabel,
} from "./first-files.ts";
import { refusing } from "./git-refusals.ts";
import { assertRepositoryName, toRepositoryPath } from "./names.ts";
import type { FolderMoves } from "./folder-moves.ts";
import { toNewSettings } from "./repository-settings.view.ts";
import { toUserId } from "../../../storage/tables/forge/ids.ts";

/** The request for a new repository. Texts are empty when they are absent. */
export interface CreateRepositoryOptions {
  readonly name: string;
  readonly description: string;
  readonly isPrivate: boolean;
  readonly isTemplate: boolean;
  readonly issueLabels: string;
  readonly autoInit: boolean;
  readonly gitignores: string;
  readonly license: string;
  readonly readme: string;
  readonly defaultBranch: string;
  readonly trustModel: string;
  readonly objectFormat: string;
}

export interface CreateRepositoryDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly newId: () => string;
  readonly files: RepositoryFiles;
  readonly moves: FolderMoves;
  readonly templates: RepositoryTemplates;
  readonly emit: Emit;
  /** Returns the e-mail address that the commits of a user have. */
  readonly commitEmail: (user: ForgeUser) => string;
}

/** Additional content and checks of a new repository. */
export interface RepositoryExtras {
  /**
   * Throws unless the creator may create it. Called before the files are created, and again in the transaction that
   * records the repository.
   */
  readonly admit?: (db: Queries, owner: ForgeUser) => Promise<void>;
  /** Writes the content of the folder, and returns the number of its branches. */
  readonly fill?: (directory: string, author: CommitPerson) => Promise<number>;
  /** Returns members of the row that are only certain in the transaction that records the repository. */
  readonly decide?: (tx: Transaction) => Promise<Partial<DecidedLate>>;
  /** Called in the transaction that records the repository, before its creation is published. */
  readonly recorded?: (tx: Transaction, repository: ForgeRepository) => Promise<void>;
}

type DecidedLate = Pick<NewForgeRepository, "isPrivate" | "settings" | "forkOf" | "licenses">;

/** The default branch of a new repository. */
export const DEFAULT_BRANCH = "main";
const trustModels = new Set(["collaborator", "committer", "collaboratorcommitter"]);

/**
 * Creates a repository: first the files in a staging folder, then the row, then the move of the files to their path.
 * The repository exists once its row is committed; recovery on startup completes or undoes an interrupted creation.
 * Refuses with `invalid_argument` an unknown readme, with `forbidden` an owner who has reached the limit on
 * repositories, with `unprocessable` an invalid name, label set, ignore file, license or object format, and with
 * `conflict` a taken name or an occupied path.
 */
export async function createRepository(
  deps: CreateRepositoryDeps,
  ownerName: string,
  options: CreateRepositoryOptions,
  actor: ForgeUser,
  extras: RepositoryExtras = {},
): Promise<OwnedRepository> {
  const { db, files, moves } = deps;
  if (options.autoInit) assertReadme(options.readme);
  assertRepositoryName(options.name);
  const objectFormat = toObjectFormat(options.objectFormat);
  const owner = await findUserByName(db, ownerName);
  if (owner === undefined) throw userNotFound(ownerName);
  await extras.admit?.(db, owner);
  await assertRoom(db, owner, actor);
  if ((await findRepositoryByName(db, owner.id, options.name)) !== undefined) throw nameTaken();
  const labels =
    options.issueLabels === "" ? [] : await getLabelSet(deps.templates, options.issueLabels);
  const place = toRepositoryPath(owner.name, options.name);
  await moves.completeAt(place);
  if (await files.exists(place)) throw filesExist(owner, options.name);

  const defaultBranch = options.defaultBranch === "" ? DEFAULT_BRANCH : options.defaultBranch;
  const { path, sizeKib, branchCount } = await refusing(() =>
    createFiles(deps, { owner, actor, options, objectFormat, defaultBranch, extras }),
  );
  const made = await record();
  if (await moves.complete(made.id)) return reread(db, made, owner);
  // Another program created the folder between the check and the move.
  await db.transaction((tx) => deleteRepository(tx, made.id));
  await files.undo(path);
  throw filesExist(owner, options.name);

  async function record(): Promise<ForgeRepository> {
    const ownerId = owner?.id ?? toUserId(0);
    try {
      return await db.transaction(async (tx) => {
        // The owner may have been renamed or deleted while the files were created.
        const current = await findUserById(tx, ownerId);
        if (current === undefined) throw userNotFound(ownerName);
        await extras.admit?.(tx, current);
        await assertRoom(tx, current, actor);
        return recordRepository(
          tx,
          {
            owner: current,
            actor,
            isAdopted: false,
            labels,
            repository: {
              name: options.name,
              description: options.description,
              isPrivate: options.isPrivate,
              isTemplate: options.isTemplate,
              settings: toNewSettings(options.isTemplate),
              isEmpty: branchCount === 0,
              branchCount,
              defaultBranch,
              objectFormat,
              trustModel: toTrustModel(options.trustModel),
              licenses: options.autoInit && options.license !== "" ? [options.license] : [],
              sizeKib,
              path,
              needsMove: true,
              ...(await extras.decide?.(tx)),
            },
          },
          deps.emit,
          extras.recorded,
        );
      });
    } catch (error) {
      await files.undo(path);
      throw isConflict(error) && error.constraint?.includes("lower_name") ? nameTaken() : error;
    }
  }
}

/** Throws `forbidden` if an owner has the maximum number of repositories. Site administrators are exempt. */
export async function assertRoom(db: Queries, owner: ForgeUser, actor: ForgeUser): Promise<void> {
  const limit = owner.maxRepoCreation;
  if (limit < 0 || actor.isAdmin || (await countRepositoriesOf(db, owner.id)) < limit) return;
  throw new AppError(
    "forbidden",
    `user has reached maximum limit of repositories [limit: ${limit}]`,
  );
}

async function createFiles(
  { files, templates, clock, newId, commitEmail }: CreateRepositoryDeps,
  {
    owner,
    actor,
    options,
    objectFormat,
    defaultBranch,
    extras,
  }: {
    readonly owner: ForgeUser;
    readonly actor: ForgeUser;
    readonly options: CreateRepositoryOptions;
    readonly objectFormat: ObjectFormat;
    readonly defaultBranch: string;
    readonly extras: RepositoryExtras;
  },
): Promise<{ readonly path: string; readonly sizeKib: number; readonly branchCount: number }> {
  const key = newId();
  if (!options.autoInit) {
    const { fill } = extras;
    let branchCount = 0;
    const content =
      fill === undefined
        ? {}
        : {
            fill: async (directory: string) => {
              branchCount = await fill(directory, toPerson(actor, commitEmail));
            },
          };
    const made = await files.create({ key, objectFormat, defaultBranch, ...content });
    return { ...made, branchCount };
  }
  const at = clock();
  const content = await createFirstFiles(templates, {
    repositoryName: options.name,
    description: options.description,
    readme: options.readme,
    gitignores: options.gitignores,
    license: options.license,
    owner: toPerson(owner, commitEmail),
    year: new Date(at).getUTCFullYear(),
  });
  const firstCommit = {
    branch: defaultBranch,
    message: "Initial commit\n",
    author: toPerson(actor, commitEmail),
    at,
    files: content,
  };
  const made = await files.create({ key, objectFormat, defaultBranch, firstCommit });
  return { ...made, branchCount: 1 };
}

function toPerson(user: ForgeUser, commitEmail: (user: ForgeUser) => string): CommitPerson {
  return {
    name: user.fullName.trim() === "" ? user.name : user.fullName,
    email: commitEmail(user),
  };
}

async function reread(
  db: Database,
  made: ForgeRepository,
  owner: ForgeUser,
): Promise<OwnedRepository> {
  const repository = (await findRepositoryById(db, made.id)) ?? made;
  return { repository, owner: (await findUserById(db, repository.ownerId)) ?? owner };
}

function toObjectFormat(text: string): ObjectFormat {
  if (text === "" || text === "sha1") return "sha1";
  if (text === "sha256") return "sha256";
  throw new AppError("unprocessable", `unknown object format "${text}": sha1 or sha256`);
}

function toTrustModel(text: string): string {
  const word = text.toLowerCase();
  return trustModels.has(word) ? word : "default";
}

const nameTaken = () =>
  new AppError("conflict", "The repository with the same name already exists.");

const filesExist = (owner: ForgeUser, name: string) =>
  new AppError("conflict", `repository files already exist [uname: ${owner.name}, name: ${name}]`);

/** The repository to insert. */
export interface NewRepository {
  readonly owner: ForgeUser;
  /** The user who creates or adopts it, and becomes a watcher. */
  readonly actor: ForgeUser;
  readonly isAdopted: boolean;
  readonly labels: readonly TemplateLabel[];
  readonly repository: Omit<NewForgeRepository, "ownerId">;
}

/** Inserts the row of a repository with its labels and watches, and publishes its creation. */
export async function recordRepository(
  tx: Transaction,
  { owner, actor, isAdopted, labels, repository: newRepository }: NewRepository,
  emit: Emit,
  recorded?: RepositoryExtras["recorded"],
): Promise<ForgeRepository> {
  const repository = await insertRepository(tx, { ...newRepository, ownerId: owner.id });
  await deleteRepositoryRedirect(tx, owner.id, newRepository.name);
  await insertLabels(
    tx,
    { repositoryId: repository.id },
    labels.map(({ exclusive, ...label }) => ({ ...label, isExclusive: exclusive })),
  );
  const isOfOrganization = owner.kind === "organization";
  // A member who may create repositories and belongs to no administering team becomes an administrator of this one.
  if (isOfOrganization && !reaches(await findAccess(tx, { repository, owner }, actor), "admin"))
    await putCollaborator(tx, repository.id, { userId: actor.id, access: COLLABORATOR_ADMIN });
  // The watchers are the creator and the members of the organization's teams with access.
  const where = { orgId: owner.id, repositoryId: repository.id };
  const members = isOfOrganization ? await listRepositoryTeamMembers(tx, where) : [];
  for (const userId of new Set([actor.id, ...members]))
    await insertWatch(tx, { repositoryId: repository.id, userId, createdAt: tx.now });
  await recorded?.(tx, repository);
  await emit(tx, "repository.created", { repository, owner, actor, isAdopted });
  return repository;
}
