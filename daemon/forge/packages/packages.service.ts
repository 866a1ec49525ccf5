import type { Database, Queries } from "../../../storage/engine/database.ts";
import {
  findPackage,
  findVersion,
  linkPackage,
  listFiles,
  listVersions,
  touchPackage,
} from "../../../storage/tables/forge/packages/packages.ts";
import {
  listAllVersions,
  type VersionFilter,
} from "../../../storage/tables/forge/packages/lists.ts";
import {
  findUserById,
  type ForgeUser,
  listUsersByIds,
} from "../../../storage/tables/forge/accounts/users.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import type { GrantedPackages } from "../opened.ts";
import { reopenPackages } from "./access.ts";
import type { OwnedVersion, Emit } from "../events.ts";
import { toDescription } from "./description.ts";
import { findLinkable, loadRepositoryDetails } from "./repository-links.ts";
import { listImageFiles } from "./containers/files.ts";
import { CONTAINER } from "./containers/references.ts";
import { removeContainerVersion } from "./containers/versions.ts";
import { ensureLatest } from "./npm/tags.ts";
import { joinWords, PYPI } from "./pypi/names.ts";
import type { PackageVersionDetails, toPackageFileView } from "./package.view.ts";
import { removeVersion } from "./versions.ts";
import { toUserId, toRepositoryId } from "../../../storage/tables/forge/ids.ts";

/** The path of a version of any type, below that of its owner. */
interface VersionAt {
  readonly type: string;
  readonly name: string;
  readonly version: string;
}

export type Packages = ReturnType<typeof createPackages>;

/** A file of a version. */
export type ListedFile = Parameters<typeof toPackageFileView>[0];

/** A page of versions with the count of all. */
export interface PackageVersionPage {
  readonly versions: readonly PackageVersionDetails[];
  readonly total: number;
}

type PackageAt = Omit<VersionAt, "version">;

export interface PackagesDeps {
  readonly db: Database;
  readonly emit: Emit;
}

/** Packages of every type. Every function throws `not_found` when the package that it names is missing. */
export function createPackages({ db, emit }: PackagesDeps) {
  return {
    /** Lists the versions of all packages, newest first, with the total count. The type `all` includes every type. */
    async list(
      { type, term }: VersionFilter,
      window: PageWindow,
      caller: ForgeCaller,
    ): Promise<PackageVersionPage> {
      const filter = {
        type: type === "all" ? "" : type,
        term,
        isPublicOnly: isPublicOnly(caller),
      };
      return listPage(filter, window, caller);
    },

    /** Lists the versions of the packages of an owner, newest first, with the total count. */
    async listOfOwner(
      { owner }: GrantedPackages,
      filter: Pick<VersionFilter, "type" | "term">,
      window: PageWindow,
      caller: ForgeCaller | undefined,
    ): Promise<PackageVersionPage> {
      return listPage({ ...filter, ownerId: owner.id }, window, caller);
    },

    /** Lists the versions of a package, newest first, with the total count. */
    async listVersions(
      { owner }: GrantedPackages,
      at: PackageAt,
      window: PageWindow,
      caller: ForgeCaller | undefined,
    ): Promise<PackageVersionPage> {
      const found = await findAt(db, owner, at);
      if (found === undefined) throw notFound();
      return listPage({ type: "", term: "", packageId: found.id }, window, caller);
    },

    async get(
      { owner }: GrantedPackages,
      at: VersionAt,
      caller: ForgeCaller | undefined,
    ): Promise<PackageVersionDetails> {
      const found = await getVersion(db, owner, at);
      const { creatorId } = found.version;
      const creator = creatorId === undefined ? undefined : await findUserById(db, creatorId);
      const { repositoryId } = found.package;
      const linked = await loadRepositoryDetails(db, [repositoryId], caller);
      return { ...found, creator, linked: linked.get(repositoryId ?? toRepositoryId(-1)) };
    },

    /** Returns what people read of a version: its readme, its license and what it needs. */
    async describe({ owner }: GrantedPackages, at: VersionAt) {
      const found = await findAt(db, owner, at);
      const version = found && (await findVersion(db, found, at.version));
      if (version === undefined) throw notFound();
      return toDescription(at.type, version.metadata);
    },

    /** Lists the files of a version; those of an image have no id of their own. */
    async listFiles({ owner }: GrantedPackages, at: VersionAt): Promise<ListedFile[]> {
      const { version } = await getVersion(db, owner, at);
      if (at.type !== CONTAINER) return listFiles(db, version.id);
      const files = await listImageFiles(db, version.id);
      return files.map((file, index) => ({ ...file, id: index + 1 }));
    },

    /** Deletes a version; deletes the package when it was the last version. */
    async remove(opened: GrantedPackages, at: VersionAt, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const { owner } = await reopenPackages(tx, opened);
        const found = await getVersion(tx, owner, at);
        await touchPackage(tx, found.package.id);
        const remove = at.type === CONTAINER ? removeContainerVersion : removeVersion;
        await remove(tx, emit, { ...found, actor: caller.user });
        if (at.type === "npm") await ensureLatest(tx, found.package);
      });
    },

    /** Deletes a package with all of its versions. */
    async removeAll(opened: GrantedPackages, at: PackageAt, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const { owner } = await reopenPackages(tx, opened);
        const found = await findAt(tx, owner, at);
        if (found === undefined) throw notFound();
        for (const version of await listVersions(tx, found.id))
          await removeVersion(tx, emit, { package: found, version, owner, actor: caller.user });
      });
    },

    /**
     * Links a package to a repository of the same owner, or removes the link. Refuses a repository that the caller may
     * not write to with `not_found`.
     */
    async link(
      opened: GrantedPackages,
      at: PackageAt,
      repositoryName: string | undefined,
      caller: ForgeCaller,
    ): Promise<void> {
      await db.transaction(async (tx) => {
        const { owner } = await reopenPackages(tx, opened);
        const found = await findAt(tx, owner, at);
        if (found === undefined) throw notFound();
        const repository =
          repositoryName === undefined
            ? undefined
            : await findLinkable(tx, owner, repositoryName, caller.user);
        if (repositoryName !== undefined && repository === undefined) throw notFound();
        await linkPackage(tx, found.id, repository?.id);
      });
    },
  };

  async function listPage(
    filter: VersionFilter,
    window: PageWindow,
    caller: ForgeCaller | undefined,
  ): Promise<PackageVersionPage> {
    const found = await listAllVersions(db, filter, toRows(window));
    const ids = found.versions.flatMap((each) => [
      each.package.ownerId,
      each.creatorId ?? toUserId(-1),
    ]);
    const people = new Map((await listUsersByIds(db, ids)).map((user) => [user.id, user]));
    const linked = await loadRepositoryDetails(
      db,
      found.versions.map((each) => each.package.repositoryId),
      caller,
    );
    const versions: PackageVersionDetails[] = [];
    for (const each of found.versions) {
      const owner = people.get(each.package.ownerId);
      // Deleted between the two queries.
      if (owner === undefined) continue;
      const creator = people.get(each.creatorId ?? toUserId(-1));
      versions.push({
        package: each.package,
        version: each,
        owner,
        creator,
        linked: linked.get(each.package.repositoryId ?? toRepositoryId(-1)),
      });
    }
    return { versions, total: found.total };
  }
}

async function getVersion(db: Queries, owner: ForgeUser, at: VersionAt): Promise<OwnedVersion> {
  const found = await findAt(db, owner, at);
  const version = found && (await findVersion(db, found, at.version));
  if (found === undefined || version === undefined) throw notFound();
  return { package: found, version, owner };
}

/** Finds a package by the name that a client gives it: a project of Python has several. */
function findAt(queries: Queries, { id: ownerId }: ForgeUser, { type, name }: PackageAt) {
  return findPackage(queries, { ownerId, type, name: type === PYPI ? joinWords(name) : name });
}
