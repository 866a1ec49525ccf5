import type { Readable } from "node:stream";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import type { Database, Queries, Transaction } from "../../../../storage/engine/database.ts";
import {
  findFile,
  findPackage,
  findVersion,
  type ForgePackage,
  type ForgePackageFile,
  type ForgePackageVersion,
  listVersions,
  touchPackage,
} from "../../../../storage/tables/forge/packages/packages.ts";
import { searchPackages } from "../../../../storage/tables/forge/packages/lists.ts";
import { deleteTag, listTags, setTag } from "../../../../storage/tables/forge/packages/tags.ts";
import type { ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../../errors.ts";
import type { ForgeCaller } from "../../caller.ts";
import { notFound } from "../../refusals.ts";
import type { ForgeUrls } from "../../urls.ts";
import { toRepositoryName } from "../repository-links.ts";
import { getReadableOwner, getWritableOwner } from "../access.ts";
import { createDownload, type PackageDownload } from "../downloads.ts";
import type { PackageEvents } from "../events.ts";
import { recordFile, removeVersion, versionExists } from "../versions.ts";
import { applyDeprecations, applyTags, ensureLatest, findMember } from "./tags.ts";
import { type NpmUpload, readNpmUpload } from "./publish-document.ts";
import { toNpmDocument, toNpmVersionInput } from "./manifest.ts";
import {
  assertNpmTag,
  isNpmVersion,
  type NpmNameInPath,
  toNpmName,
  toTarballName,
} from "./names.ts";
import { type NpmPackage, readNpmPackage, toRevision } from "./packument.ts";

/** The type of npm packages. */
const NPM = "npm";

/** The path of a package. */
export interface NpmPackageAt extends NpmNameInPath {
  readonly owner: string;
}

/**
 * The npm registry of an owner. Every function throws `not_found` when the package is missing or hidden from the
 * caller, `invalid_argument` for an invalid name, and `forbidden` for a change by a caller with read access only.
 */
export interface NpmRegistry {
  view(at: NpmPackageAt, caller: ForgeCaller | undefined): Promise<NpmPackage>;
  download(
    at: NpmPackageAt & { readonly filename: string },
    caller: ForgeCaller | undefined,
  ): Promise<PackageDownload>;
  /**
   * Publishes the version of a document with an attachment; without an attachment, updates the deprecations. Refuses
   * with `conflict` an existing version, and with `invalid_argument` or `too_large` an invalid document. A refusal
   * changes nothing.
   */
  publish(at: NpmPackageAt, body: Readable, caller: ForgeCaller): Promise<void>;
  /**
   * Unpublishes the versions that a document omits, and replaces tags and deprecations with those of the document.
   * Refuses with `conflict` when the package has changed since the revision, and with `invalid_argument` to remove all
   * versions.
   */
  revise(
    at: NpmPackageAt & { readonly revision: string },
    body: Readable,
    caller: ForgeCaller,
  ): Promise<void>;
  /** Unpublishes a package. Refuses with `conflict` when the package has changed since the revision. */
  unpublish(at: NpmPackageAt & { readonly revision: string }, caller: ForgeCaller): Promise<void>;
  /** Unpublishes the version of a tarball. Has no effect when the package does not have the tarball. */
  removeTarball(
    at: NpmPackageAt & { readonly filename: string },
    caller: ForgeCaller,
  ): Promise<void>;
  listTags(at: NpmPackageAt, caller: ForgeCaller | undefined): Promise<ReadonlyMap<string, string>>;
  /** The body is the version as JSON text. */
  setTag(
    at: NpmPackageAt & { readonly tag: string },
    body: Readable,
    caller: ForgeCaller,
  ): Promise<void>;
  /** Refuses to remove `latest` with `invalid_argument`. */
  deleteTag(at: NpmPackageAt & { readonly tag: string }, caller: ForgeCaller): Promise<void>;
  search(
    ownerName: string,
    query: { readonly text: string; readonly size: number; readonly from: number },
    caller: ForgeCaller | undefined,
  ): Promise<{ readonly packages: readonly NpmPackage[]; readonly total: number }>;
}

export interface NpmRegistryDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly events: PackageEvents;
  readonly urls: ForgeUrls;
  /** Maximum size of a tarball. */
  readonly uploadBytesMax: number;
}

const SEARCH_SIZE = 20;
const SEARCH_SIZE_MAX = 50;

export function createNpmRegistry(deps: NpmRegistryDeps): NpmRegistry {
  const { db, store, events, urls, uploadBytesMax } = deps;
  return {
    async view(at, caller) {
      const { owner, found } = await getReadable(at, caller);
      return readNpmPackage(db, found, owner.name);
    },

    async download(at, caller) {
      const { found } = await getReadable(at, caller);
      const tarball = await findTarball(db, found, at.filename);
      if (tarball === undefined) throw notFound();
      return createDownload(store, tarball.file);
    },

    async publish(at, body, caller) {
      const name = toNpmName(at);
      const owner = await getWritableOwner(db, at.owner, caller);
      const upload = await readNpmUpload(store, body, uploadBytesMax);
      try {
        if (upload.attachment === undefined) await deprecate(owner, name, upload);
        else await publishVersion(owner, name, upload, upload.attachment, caller);
      } finally {
        await upload.discard();
      }
    },

    async revise(at, body, caller) {
      const name = toNpmName(at);
      const owner = await getWritableOwner(db, at.owner, caller);
      const document = await readDocument(name, body);
      await db.transaction(async (tx) => {
        const found = await getChangeable(tx, owner, name, at.revision);
        const versions = await listVersions(tx, found.id);
        const isInDocument = ({ version }: ForgePackageVersion) =>
          findMember(document.versions, version) !== undefined;
        if (!versions.some(isInDocument))
          throw new AppError("invalid_argument", "no version would be left; delete the package");
        for (const version of versions) {
          if (!isInDocument(version))
            await removeVersion(tx, events, { package: found, version, owner, actor: caller.user });
        }
        await applyDeprecations(tx, versions.filter(isInDocument), document);
        await applyTags(tx, found, document);
        await ensureLatest(tx, found);
      });
    },

    async unpublish(at, caller) {
      const name = toNpmName(at);
      const owner = await getWritableOwner(db, at.owner, caller);
      await db.transaction(async (tx) => {
        const found = await getChangeable(tx, owner, name, at.revision);
        for (const version of await listVersions(tx, found.id))
          await removeVersion(tx, events, { package: found, version, owner, actor: caller.user });
      });
    },

    async removeTarball(at, caller) {
      const name = toNpmName(at);
      const owner = await getWritableOwner(db, at.owner, caller);
      await db.transaction(async (tx) => {
        const found = await getChangeable(tx, owner, name, undefined);
        const tarball = await findTarball(tx, found, at.filename);
        if (tarball === undefined) return;
        const { version } = tarball;
        await removeVersion(tx, events, { package: found, version, owner, actor: caller.user });
        await ensureLatest(tx, found);
      });
    },

    async listTags(at, caller) {
      const { found } = await getReadable(at, caller);
      return listTags(db, found.id);
    },

    async setTag(at, body, caller) {
      const name = toNpmName(at);
      assertNpmTag(at.tag);
      const owner = await getWritableOwner(db, at.owner, caller);
      const version = await readVersion(body);
      await db.transaction(async (tx) => {
        const found = await getChangeable(tx, owner, name, undefined);
        const record = await findVersion(tx, found.id, version);
        if (record === undefined) throw notFound();
        await setTag(tx, found.id, at.tag, record.id);
      });
    },

    async deleteTag(at, caller) {
      const name = toNpmName(at);
      assertNpmTag(at.tag);
      const owner = await getWritableOwner(db, at.owner, caller);
      if (at.tag === "latest")
        throw new AppError("invalid_argument", "latest can be moved but not removed");
      await db.transaction(async (tx) => {
        const found = await getChangeable(tx, owner, name, undefined);
        if (!(await deleteTag(tx, found.id, at.tag))) throw notFound();
      });
    },

    async search(ownerName, { text, size, from }, caller) {
      const owner = await getReadableOwner(db, ownerName, caller);
      const found = await searchPackages(
        db,
        { ownerId: owner.id, type: NPM, term: text.trim() },
        {
          limit: size < 1 ? SEARCH_SIZE : Math.min(size, SEARCH_SIZE_MAX),
          offset: Math.max(from, 0),
        },
      );
      const packages: NpmPackage[] = [];
      for (const each of found.packages) packages.push(await readNpmPackage(db, each, owner.name));
      return { packages, total: found.total };
    },
  };

  async function getReadable(at: NpmPackageAt, caller: ForgeCaller | undefined) {
    const name = toNpmName(at);
    const owner = await getReadableOwner(db, at.owner, caller);
    const found = await findPackage(db, { ownerId: owner.id, type: NPM, name });
    if (found === undefined) throw notFound();
    return { owner, found };
  }

  async function publishVersion(
    owner: ForgeUser,
    name: string,
    upload: NpmUpload,
    { name: attachmentName, received }: NonNullable<NpmUpload["attachment"]>,
    caller: ForgeCaller,
  ): Promise<void> {
    const document = toNpmDocument(upload.document, name);
    const { digests } = received;
    const publication = toNpmVersionInput(document, name, { name: attachmentName, digests });
    const known = await findPackage(db, { ownerId: owner.id, type: NPM, name });
    if (known !== undefined && (await findVersion(db, known.id, publication.version)) !== undefined)
      throw versionExists();
    await received.publish();
    await db.transaction(async (tx) => {
      const recorded = await recordFile(
        tx,
        events,
        {
          ownerId: owner.id,
          type: NPM,
          name,
          version: publication.version,
          filename: toTarballName(name, publication.version),
          metadata: JSON.stringify(publication.metadata),
          digests,
        },
        {
          actor: caller.user,
          mustBeNew: true,
          linkTo: toRepositoryName(publication.metadata.manifest["repository"], owner, urls),
        },
      );
      for (const tag of publication.tags)
        await setTag(tx, recorded.package.id, tag, recorded.version.id);
      await ensureLatest(tx, recorded.package);
    });
  }

  /** `npm deprecate` sends the package with changed texts and without an attachment. */
  async function deprecate(owner: ForgeUser, name: string, upload: NpmUpload): Promise<void> {
    const document = toNpmDocument(upload.document, name);
    await db.transaction(async (tx) => {
      const found = await findPackage(tx, { ownerId: owner.id, type: NPM, name });
      const versions = found === undefined ? [] : await listVersions(tx, found.id);
      const isKnown = ({ version }: ForgePackageVersion) =>
        findMember(document.versions, version) !== undefined;
      if (found === undefined || !versions.some(isKnown))
        throw new AppError("invalid_argument", "the document has no attachment");
      await touchPackage(tx, found.id);
      await applyDeprecations(tx, versions, document);
    });
  }

  async function readDocument(name: string, body: Readable) {
    const upload = await readNpmUpload(store, body, uploadBytesMax);
    await upload.discard();
    if (upload.attachment !== undefined)
      throw new AppError("invalid_argument", "an attachment is not expected here");
    return toNpmDocument(upload.document, name);
  }

  async function readVersion(body: Readable): Promise<string> {
    const { document } = await readNpmUpload(store, body, 0);
    if (typeof document !== "string" || !isNpmVersion(document))
      throw new AppError("invalid_argument", "the body must be a version");
    return document;
  }
}

/** Finds a package for a change and increments its revision. Refuses with `conflict` when the revision differs. */
async function getChangeable(
  tx: Transaction,
  owner: ForgeUser,
  name: string,
  revision: string | undefined,
): Promise<ForgePackage> {
  const found = await findPackage(tx, { ownerId: owner.id, type: NPM, name });
  if (found === undefined) throw notFound();
  if (revision !== undefined && revision !== toRevision(found))
    throw new AppError("conflict", "the package has changed meanwhile");
  return (await touchPackage(tx, found.id)) ?? found;
}

async function findTarball(
  db: Queries,
  found: ForgePackage,
  filename: string,
): Promise<{ readonly file: ForgePackageFile; readonly version: ForgePackageVersion } | undefined> {
  // The version is part of the name.
  const version = await findVersion(db, found.id, toVersionOf(found.name, filename));
  const file = version && (await findFile(db, version.id, filename));
  return version && file && { version, file };
}

function toVersionOf(name: string, filename: string): string {
  const [before = "", after = ""] = toTarballName(name, "\n").split("\n");
  return filename.slice(before.length, filename.length - after.length);
}
