import type { Readable } from "node:stream";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import type { Database, Queries, Transaction } from "../../../../storage/engine/database.ts";
import { parseColumn } from "../../../../storage/engine/json-column.ts";
import {
  findFile,
  findPackage,
  findVersion,
  type ForgePackage,
  type ForgePackageFile,
  type ForgePackageVersion,
  type ListedPackageVersion,
  listVersions,
  touchPackage,
} from "../../../../storage/tables/forge/packages/packages.ts";
import { searchPackages } from "../../../../storage/tables/forge/packages/lists.ts";
import {
  listForms,
  setManifest,
  sumManifests,
} from "../../../../storage/tables/forge/packages/manifests.ts";
import {
  deleteTag,
  findTaggedVersion,
  listTags,
} from "../../../../storage/tables/forge/packages/tags.ts";
import type { ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../../errors.ts";
import type { ForgeCaller } from "../../caller.ts";
import type { Compute } from "../../compute.ts";
import type { GrantedPackages } from "../../opened.ts";
import { notFound, orNotFound } from "../../refusals.ts";
import type { ForgeUrls } from "../../urls.ts";
import type { OwnerRoom } from "../owner-room.ts";
import { toRepositoryName } from "../repository-links.ts";
import { reopenPackages } from "../access.ts";
import { createDownload } from "../downloads.ts";
import type { Emit } from "../../events.ts";
import type { NpmRegistry, NpmSearchHit } from "./registry.ts";
import { recordFile, removeVersion, versionExists } from "../versions.ts";
import { VERSIONS_MAX } from "./compact-document.ts";
import {
  addTag,
  applyDeprecations,
  applyTags,
  ensureLatest,
  findDeprecations,
  findMember,
} from "./tags.ts";
import { DOCUMENT_BYTES_MAX, type NpmUpload, readNpmUpload } from "./publish-document.ts";
import {
  type NpmSummary,
  npmSummarySchema,
  toNpmDocument,
  toNpmVersionInput,
  toStored,
  toSummary,
} from "./manifest.ts";
import {
  assertNpmTag,
  isNpmVersion,
  type NpmNameInPath,
  toNpmName,
  toTarballName,
} from "./names.ts";
import {
  findHighest,
  findLatest,
  readManifests,
  readMetadata,
  readNpmPackage,
  toMetadata,
  toRevision,
} from "./packument.ts";

/** The type of npm packages. */
const NPM = "npm";

export interface NpmRegistryDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly compute: Compute;
  readonly emit: Emit;
  readonly urls: ForgeUrls;
  /** Maximum size of a tarball. */
  readonly uploadBytesMax: number;
  readonly room: OwnerRoom;
}

const SEARCH_SIZE = 20;
const SEARCH_SIZE_MAX = 50;
/**
 * Characters of the manifests of all versions of a package. npm sends all of them in one document to unpublish a version, and
 * every installation reads an answer with all of them.
 */
const MANIFESTS_LENGTH_MAX = 12 * 1024 * 1024;
/** Largest body that names a version, in bytes. */
const VERSION_BYTES_MAX = 1024;

export function createNpmRegistry(deps: NpmRegistryDeps): NpmRegistry {
  const { db, store, compute, emit, urls, uploadBytesMax, room } = deps;
  return {
    async view({ owner }, at) {
      const found = await getPackage(owner, at);
      const npm = await readNpmPackage(db, found, owner.name);
      return {
        npm,
        manifests: (form) => readManifests(db, npm, form),
        latest: async () => {
          const latest = findLatest(npm);
          return latest && readMetadata(db, latest.record.id);
        },
      };
    },

    async download({ owner }, at) {
      const tarball = await findTarball(db, await getPackage(owner, at), at.filename);
      if (tarball === undefined) throw notFound();
      return createDownload(store, tarball.file);
    },

    async publish(opened, at, body, caller) {
      const name = toNpmName(at);
      const { owner } = opened;
      await assertRoom(db, await findPackage(db, { ownerId: owner.id, type: NPM, name }), 0);
      // The document does not announce the bytes of the tarball in it.
      const upload = await room.receive(owner.id, 0, (bytesMax) => receive(body, caller, bytesMax));
      try {
        const { attachment } = upload;
        if (attachment === undefined) await deprecate(opened, name, upload);
        else await publishVersion(opened, name, upload, attachment, caller);
      } finally {
        await upload.discard();
      }
    },

    async revise(opened, at, body, caller) {
      const name = toNpmName(at);
      const { owner } = opened;
      const document = await readDocument(name, body, caller);
      const known = await findPackage(db, { ownerId: owner.id, type: NPM, name });
      if (known === undefined) throw notFound();
      const deprecations = await findDeprecations(db, await listVersions(db, known.id), document);
      await db.transaction(async (tx) => {
        await reopenPackages(tx, opened);
        // Of the revision, so the deprecations are those of its manifests.
        const found = await getChangeable(tx, owner, name, at.revision);
        const versions = await listVersions(tx, found.id);
        const isInDocument = ({ version }: ListedPackageVersion) =>
          findMember(document.versions, version) !== undefined;
        if (!versions.some(isInDocument))
          throw new AppError("invalid_argument", "no version would be left; delete the package");
        for (const version of versions) {
          if (!isInDocument(version))
            await removeVersion(tx, emit, { package: found, version, owner, actor: caller.user });
        }
        await applyDeprecations(tx, deprecations);
        await applyTags(tx, found, document);
        await ensureLatest(tx, found);
      });
    },

    async unpublish(opened, at, caller) {
      const name = toNpmName(at);
      await db.transaction(async (tx) => {
        const { owner } = await reopenPackages(tx, opened);
        const found = await getChangeable(tx, owner, name, at.revision);
        for (const version of await listVersions(tx, found.id))
          await removeVersion(tx, emit, { package: found, version, owner, actor: caller.user });
      });
    },

    async removeTarball(opened, at, caller) {
      const name = toNpmName(at);
      await db.transaction(async (tx) => {
        const { owner } = await reopenPackages(tx, opened);
        const found = await getChangeable(tx, owner, name, undefined);
        const tarball = await findTarball(tx, found, at.filename);
        if (tarball === undefined) return;
        const { version } = tarball;
        await removeVersion(tx, emit, { package: found, version, owner, actor: caller.user });
        await ensureLatest(tx, found);
      });
    },

    listTags: async ({ owner }, at) => listTags(db, (await getPackage(owner, at)).id),

    async setTag(opened, at, body, caller) {
      const name = toNpmName(at);
      assertNpmTag(at.tag);
      const version = await readVersion(body, caller);
      await db.transaction(async (tx) => {
        const { owner } = await reopenPackages(tx, opened);
        const found = await getChangeable(tx, owner, name, undefined);
        const record = await findVersion(tx, found, version);
        if (record === undefined) throw notFound();
        await addTag(tx, found, at.tag, record);
      });
    },

    async deleteTag(opened, at) {
      const name = toNpmName(at);
      assertNpmTag(at.tag);
      await db.transaction(async (tx) => {
        const { owner } = await reopenPackages(tx, opened);
        if (at.tag === "latest")
          throw new AppError("invalid_argument", "latest can be moved but not removed");
        const found = await getChangeable(tx, owner, name, undefined);
        if (!(await deleteTag(tx, found.id, at.tag))) throw notFound();
      });
    },

    async search({ owner }, { text, size, from }) {
      const found = await searchPackages(
        db,
        { ownerId: owner.id, type: NPM, term: text.trim() },
        {
          limit: size < 1 ? SEARCH_SIZE : Math.min(size, SEARCH_SIZE_MAX),
          offset: Math.max(from, 0),
        },
      );
      const packages: NpmSearchHit[] = [];
      for (const { id, name } of found.packages) {
        const latest =
          (await findTaggedVersion(db, id, "latest")) ??
          findHighest(await listVersions(db, id), ({ version }) => version);
        const summary = latest && (await readSummary(latest));
        if (latest !== undefined && summary !== undefined)
          packages.push({ name, ownerName: owner.name, latest, summary });
      }
      return { packages, total: found.total };
    },
  };

  async function readSummary({ id }: ListedPackageVersion): Promise<NpmSummary | undefined> {
    const form = (await listForms(db, [id], "summary")).get(id);
    if (form === undefined) return undefined;
    return "text" in form
      ? parseColumn(npmSummarySchema, form.text, "forge_package_versions.summary")
      : toSummary(toMetadata(form).manifest);
  }

  function receive(
    body: Readable,
    caller: ForgeCaller,
    attachmentBytes: number,
    documentBytes = DOCUMENT_BYTES_MAX,
  ): Promise<NpmUpload> {
    const account = String(caller.user.id);
    return readNpmUpload({ store, compute, account }, body, { documentBytes, attachmentBytes });
  }

  async function getPackage(owner: ForgeUser, at: NpmNameInPath): Promise<ForgePackage> {
    const key = { ownerId: owner.id, type: NPM, name: toNpmName(at) };
    return orNotFound(await findPackage(db, key));
  }

  async function publishVersion(
    opened: GrantedPackages,
    name: string,
    upload: NpmUpload,
    { name: attachmentName, received }: NonNullable<NpmUpload["attachment"]>,
    caller: ForgeCaller,
  ): Promise<void> {
    const { owner } = opened;
    const document = toNpmDocument(upload.document, name);
    const { digests } = received;
    const publication = toNpmVersionInput(document, name, { name: attachmentName, digests });
    const known = await findPackage(db, { ownerId: owner.id, type: NPM, name });
    if (known !== undefined && (await findVersion(db, known, publication.version)) !== undefined)
      throw versionExists();
    const stored = toStored(publication.metadata);
    await assertRoom(db, known, stored.forms.manifestLength);
    await received.publish();
    await db.transaction(async (tx) => {
      // The right may have ended while the bytes arrived.
      await reopenPackages(tx, opened);
      const recorded = await recordFile(
        tx,
        emit,
        {
          ownerId: owner.id,
          type: NPM,
          name,
          version: publication.version,
          filename: toTarballName(name, publication.version),
          metadata: stored.metadata,
          digests,
        },
        {
          actor: caller.user,
          mustBeNew: true,
          room,
          linkTo: toRepositoryName(publication.metadata.manifest["repository"], owner, urls),
        },
      );
      await setManifest(tx, recorded.version.id, stored.forms);
      // Concurrent publications see each other here.
      await assertRoom(tx, recorded.package, 0);
      for (const tag of publication.tags) await addTag(tx, recorded.package, tag, recorded.version);
      await ensureLatest(tx, recorded.package);
    });
  }

  /** `npm deprecate` sends the package with changed texts and without an attachment. */
  async function deprecate(
    opened: GrantedPackages,
    name: string,
    upload: NpmUpload,
  ): Promise<void> {
    const { owner } = opened;
    const document = toNpmDocument(upload.document, name);
    const found = await findPackage(db, { ownerId: owner.id, type: NPM, name });
    const versions = found === undefined ? [] : await listVersions(db, found.id);
    const isKnown = ({ version }: ListedPackageVersion) =>
      findMember(document.versions, version) !== undefined;
    if (found === undefined || !versions.some(isKnown))
      throw new AppError("invalid_argument", "the document has no attachment");
    const deprecations = await findDeprecations(db, versions, document);
    await db.transaction(async (tx) => {
      // The right may have ended while the bytes arrived.
      await reopenPackages(tx, opened);
      await getChangeable(tx, owner, name, toRevision(found));
      await applyDeprecations(tx, deprecations);
    });
  }

  async function readDocument(name: string, body: Readable, caller: ForgeCaller) {
    const upload = await receive(body, caller, uploadBytesMax);
    await upload.discard();
    if (upload.attachment !== undefined)
      throw new AppError("invalid_argument", "an attachment is not expected here");
    return toNpmDocument(upload.document, name);
  }

  async function readVersion(body: Readable, caller: ForgeCaller): Promise<string> {
    const upload = await receive(body, caller, 0, VERSION_BYTES_MAX);
    await upload.discard();
    const { document } = upload;
    if (typeof document !== "string" || !isNpmVersion(document))
      throw new AppError("invalid_argument", "the body must be a version");
    return document;
  }
}

/** Refuses with `too_large` a version whose package has no room left for it. */
async function assertRoom(
  db: Queries,
  found: ForgePackage | undefined,
  manifestLength: number,
): Promise<void> {
  if (found === undefined) return;
  const { versions, characters } = await sumManifests(db, found.id);
  const isFull = versions > VERSIONS_MAX || characters + manifestLength > MANIFESTS_LENGTH_MAX;
  if (isFull)
    throw new AppError(
      "too_large",
      `A package has at most ${VERSIONS_MAX} versions and ${MANIFESTS_LENGTH_MAX} characters of manifests: unpublish old versions first.`,
    );
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
  const version = await findVersion(db, found, toVersionOf(found.name, filename));
  const file = version && (await findFile(db, version.id, filename));
  return version && file && { version, file };
}

function toVersionOf(name: string, filename: string): string {
  const [before = "", after = ""] = toTarballName(name, "\n").split("\n");
  return filename.slice(before.length, filename.length - after.length);
}
