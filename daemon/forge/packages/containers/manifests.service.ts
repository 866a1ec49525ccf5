import { createHash } from "node:crypto";
import type { Database, Queries, Transaction } from "../../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../../storage/objects/object-store.ts";
import { listContainerBlobs } from "../../../../storage/tables/forge/packages/container-blobs.ts";
import {
  type ContainerManifest,
  type ContainerReferrer,
  type ContainerSummary,
  findContainerManifest,
  findManifestOfVersion,
  insertContainerManifest,
  insertContainerReferences,
  listContainerReferrers,
  listContainerTags,
  listManifestSizes,
  readContainerManifest,
} from "../../../../storage/tables/forge/packages/containers.ts";
import {
  findPackage,
  findVersion,
  type ForgePackage,
  linkPackage,
  openPackage,
  touchPackage,
} from "../../../../storage/tables/forge/packages/packages.ts";
import type { ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import type { ForgeCaller } from "../../caller.ts";
import type { Compute } from "../../compute.ts";
import type { Emit } from "../../events.ts";
import type { GrantedPackages } from "../../opened.ts";
import type { ForgeUrls } from "../../urls.ts";
import { reopenPackages } from "../access.ts";
import { findLinkable, toRepositoryName } from "../repository-links.ts";
import { readConfig } from "./config.ts";
import { type ContainerLimits, findOwnerRoom, ownerIsFull } from "./limits.ts";
import { type ImageConfig, type ParsedManifest, readManifest, toShownLabels } from "./manifest.ts";
import {
  assertImageName,
  CONTAINER,
  type ImageAt,
  imageUnknown,
  parseDigest,
  parsePageSize,
  parseReference,
  type Reference,
  refuse,
} from "./references.ts";
import { listByDigest, listTagsOf, removeManifest, removeTag, tagManifest } from "./versions.ts";

/** A manifest of an image. */
interface ManifestAt extends ImageAt {
  /** A tag or a digest. */
  readonly reference: string;
}

/** A manifest with its bytes. */
export interface ManifestContent {
  readonly manifest: ContainerManifest;
  readonly content: string;
}

/** A manifest as a client sends it. */
export interface PushedManifest {
  readonly bytes: Buffer;
  readonly mediaType: string;
}

/** A page of names after `last`, as a client asks for it. */
export interface PageRequest {
  readonly n: string;
  readonly last: string;
}

/** A page of names; `next` is the last of them when there are more. */
export interface NamePage {
  readonly names: readonly string[];
  readonly next: string | undefined;
}

export interface ContainerManifestsDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly compute: Compute;
  readonly emit: Emit;
  readonly urls: ForgeUrls;
  readonly limits: ContainerLimits;
}

export type ContainerManifests = ReturnType<typeof createContainerManifests>;

const REFERRERS = { limit: 100, bytesMax: 4 * 1024 * 1024 } as const;
/** The label and annotation that names the repository of the source. */
const SOURCE = "org.opencontainers.image.source";

/** Manifests of images. Every function refuses with `not_found` what the image does not have. */
export function createContainerManifests(deps: ContainerManifestsDeps) {
  const { db, store, compute, emit, urls, limits } = deps;
  return {
    async get({ owner }: GrantedPackages, at: ManifestAt): Promise<ManifestContent> {
      const named = readNames(at);
      const image = await getImagePackage(db, owner, at);
      const manifest = await getManifest(db, image, named);
      const content = await readContainerManifest(db, manifest.id);
      // Deleted between the two queries.
      if (content === undefined) throw manifestUnknown();
      return { manifest, content };
    },

    /**
     * Stores a manifest under a tag or its digest. Refuses with `invalid_argument` an invalid one, with `not_found` one that names
     * blobs or manifests which the image does not have. Idempotent.
     */
    async put(
      granted: GrantedPackages,
      at: ManifestAt,
      pushed: PushedManifest,
      caller: ForgeCaller,
    ): Promise<ContainerManifest> {
      const { owner } = granted;
      const named = readNames(at);
      const { text, parsed } = await parse(pushed, caller);
      const digest = toDigest(pushed.bytes, named);
      const config = await readConfig({ db, store, compute }, parsed.config, {
        owner,
        image: at.name,
        account: String(caller.user.id),
      });
      return db.transaction(async (tx) => {
        const { owner: current } = await reopenPackages(tx, granted);
        const opened = await openPackage(tx, {
          ownerId: current.id,
          type: CONTAINER,
          name: at.name,
        });
        const image = {
          package: await linked(tx, opened, current, caller, toSource(parsed, config)),
          owner: current,
          actor: caller.user,
        };
        const namedBytes = await findNamed(tx, image.package, at.name, parsed);
        const size = pushed.bytes.byteLength;
        await assertRoom(tx, current, size);
        const manifest = await insert(tx, {
          packageId: image.package.id,
          digest,
          mediaType: pushed.mediaType,
          artifactType: parsed.artifactType,
          subject: parsed.subject,
          size,
          summary: toSummary(parsed, config, size + namedBytes),
          content: text,
          annotations: parsed.annotations,
          names: [...parsed.blobs, ...parsed.manifests],
        });
        if ("tag" in named) await tagManifest(tx, emit, image, manifest, named.tag);
        else await listByDigest(tx, emit, image, manifest);
        return manifest;
      });
    },

    /** Deletes a tag, or a manifest with its tags. */
    async remove(granted: GrantedPackages, at: ManifestAt, caller: ForgeCaller): Promise<void> {
      const named = readNames(at);
      await db.transaction(async (tx) => {
        const { owner } = await reopenPackages(tx, granted);
        const opened = await getImagePackage(tx, owner, at);
        await touchPackage(tx, opened.id);
        const image = { package: opened, owner, actor: caller.user };
        if ("tag" in named) {
          if (!(await removeTag(tx, emit, image, named.tag))) throw manifestUnknown();
          return;
        }
        await removeManifest(tx, emit, image, await getManifest(tx, opened, named));
      });
    },

    async listTags(
      { owner }: GrantedPackages,
      at: ImageAt,
      { n, last }: PageRequest,
    ): Promise<NamePage> {
      assertImageName(at);
      const limit = parsePageSize(n);
      const image = await getImagePackage(db, owner, at);
      const after = last.replaceAll("\0", "");
      const names = await listContainerTags(db, image.id, { after, limit: limit + 1 });
      return toNamePage(names, limit);
    },

    /** Lists the manifests about a manifest, which need not be there. `last` is the id of the last one of the page before. */
    async listReferrers(
      { owner }: GrantedPackages,
      at: ImageAt & { readonly digest: string },
      { artifactType, last }: { readonly artifactType: string; readonly last: string },
    ): Promise<{ readonly referrers: readonly ContainerReferrer[]; readonly hasMore: boolean }> {
      assertImageName(at);
      const subject = at.digest;
      parseDigest(subject);
      const key = { ownerId: owner.id, type: CONTAINER, name: at.name };
      const image = await findPackage(db, key);
      if (image === undefined) return { referrers: [], hasMore: false };
      const after = /^\d{1,15}$/.test(last) ? Number(last) : 0;
      const filter = { packageId: image.id, subject, after };
      return listContainerReferrers(
        db,
        { ...filter, artifactType: artifactType.replaceAll("\0", "") },
        REFERRERS,
      );
    },

    /** Returns the image of a tag or digest, and its tags. */
    async describe({ owner }: GrantedPackages, at: ManifestAt) {
      const named = readNames(at);
      const manifest = await getManifest(db, await getImagePackage(db, owner, at), named);
      return { owner, manifest, tags: await listTagsOf(db, manifest) };
    },
  };

  async function parse({ bytes, mediaType }: PushedManifest, caller: ForgeCaller) {
    const text = decode(bytes);
    if (text === undefined) throw manifestInvalid("it is not UTF-8");
    const computed = await compute.run(readManifest, { text, mediaType }, String(caller.user.id));
    if (computed.kind === "exceeded") throw manifestInvalid(`it takes ${computed.reason}`);
    if (computed.value.kind === "invalid") throw manifestInvalid(computed.value.reason);
    return { text, parsed: computed.value.manifest };
  }

  async function insert(
    tx: Transaction,
    {
      names,
      ...manifest
    }: Parameters<typeof insertContainerManifest>[1] & { readonly names: readonly string[] },
  ): Promise<ContainerManifest> {
    const added = await insertContainerManifest(tx, manifest);
    if (added !== undefined) {
      await insertContainerReferences(tx, added.id, names);
      return added;
    }
    const known = await findContainerManifest(tx, manifest.packageId, manifest.digest);
    if (known === undefined) throw new Error("the manifest conflicts with none");
    return known;
  }

  /** Returns the bytes of all that a manifest names, which must be there. */
  async function findNamed(
    tx: Transaction,
    { id, ownerId }: ForgePackage,
    image: string,
    { blobs, manifests }: ParsedManifest,
  ): Promise<number> {
    const foundBlobs = await listContainerBlobs(tx, { ownerId, image }, blobs);
    const foundManifests = await listManifestSizes(tx, id, manifests);
    const missing =
      blobs.find((digest) => !foundBlobs.has(digest)) ??
      manifests.find((digest) => !foundManifests.has(digest));
    if (missing !== undefined)
      throw refuse("not_found", "MANIFEST_BLOB_UNKNOWN", `the image does not have ${missing}`);
    let size = 0;
    for (const blob of foundBlobs.values()) size += blob.size;
    for (const each of foundManifests.values()) size += each;
    return size;
  }

  async function assertRoom(tx: Transaction, owner: ForgeUser, size: number): Promise<void> {
    if (size > (await findOwnerRoom(tx, owner.id, limits))) throw ownerIsFull(limits);
  }

  async function linked(
    tx: Transaction,
    opened: ForgePackage,
    owner: ForgeUser,
    caller: ForgeCaller,
    source: string | undefined,
  ): Promise<ForgePackage> {
    const name = toRepositoryName(source, owner, urls);
    if (name === undefined || opened.repositoryId !== undefined) return opened;
    const repository = await findLinkable(tx, owner, name, caller.user);
    if (repository === undefined) return opened;
    await linkPackage(tx, opened.id, repository.id);
    return { ...opened, repositoryId: repository.id };
  }
}

/** Returns what a path names a manifest by. Refuses an invalid name of the image or of the manifest. */
function readNames(at: ManifestAt): Reference {
  assertImageName(at);
  return parseReference(at.reference);
}

/** Returns the package of an image. Refuses with `not_found` when nothing was published. */
async function getImagePackage(
  db: Queries,
  owner: ForgeUser,
  { name }: ImageAt,
): Promise<ForgePackage> {
  const found = await findPackage(db, { ownerId: owner.id, type: CONTAINER, name });
  if (found === undefined) throw imageUnknown();
  return found;
}

async function getManifest(
  db: Queries,
  image: ForgePackage,
  named: Reference,
): Promise<ContainerManifest> {
  if ("digest" in named) {
    const found = await findContainerManifest(db, image.id, named.digest);
    if (found === undefined) throw manifestUnknown();
    return found;
  }
  const version = await findVersion(db, image, named.tag);
  const manifest = version && (await findManifestOfVersion(db, version.id));
  if (manifest === undefined) throw manifestUnknown();
  return manifest;
}

/** Returns the digest of a manifest; that of the client, if it names one, must be right. */
function toDigest(bytes: Buffer, named: Reference): string {
  const { algorithm, hex } =
    "digest" in named
      ? parseDigest(named.digest)
      : { algorithm: "sha256" as const, hex: undefined };
  const found = createHash(algorithm).update(bytes).digest("hex");
  if (hex !== undefined && found !== hex)
    throw refuse("invalid_argument", "DIGEST_INVALID", "the manifest does not match the digest");
  return `${algorithm}:${found}`;
}

function toSummary(
  { annotations, platforms }: ParsedManifest,
  config: ImageConfig | undefined,
  size: number,
): ContainerSummary {
  const platform = config?.platform ?? "";
  return {
    platforms: platform === "" ? [...platforms] : [platform],
    labels: toShownLabels({ ...annotations, ...config?.labels }),
    size,
  };
}

const toSource = ({ annotations }: ParsedManifest, config: ImageConfig | undefined) =>
  config?.labels[SOURCE] ?? annotations[SOURCE];

/** Returns UTF-8 as text that has the same bytes again; undefined for other bytes. */
function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Cuts one name more than a page has. */
export function toNamePage(found: readonly string[], limit: number): NamePage {
  const names = found.slice(0, limit);
  return { names, next: found.length > limit && limit > 0 ? names.at(-1) : undefined };
}

const manifestUnknown = () =>
  refuse("not_found", "MANIFEST_UNKNOWN", "the image does not have this manifest");
const manifestInvalid = (reason: string) =>
  refuse("invalid_argument", "MANIFEST_INVALID", `the manifest is invalid: ${reason}`);
