import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { generated, id, integer, json, now, optional, text, unread } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { ContainerManifestId, PackageId, PackageVersionId, UserId } from "../ids.ts";
import { type ListedPackageVersion, versions } from "./packages.ts";

const textsSchema = z.record(z.string(), z.string());

/** What lists and pages show of a manifest. */
const summarySchema = z.object({
  /** Such as `linux/arm64/v8`. */
  platforms: z.array(z.string()),
  labels: textsSchema,
  /** Bytes of the manifest and of all that it names. */
  size: z.int(),
});
export type ContainerSummary = z.infer<typeof summarySchema>;

const manifests = defineTable("forge_container_manifests", {
  id: generated(id<ContainerManifestId>()),
  packageId: id<PackageId>(),
  /** `algorithm:hex`, as clients name it; unique in its package. */
  digest: text(),
  mediaType: text(),
  /** Empty without one. */
  artifactType: text(),
  /** The digest of the manifest that it is about. */
  subject: optional(text()),
  /** In bytes. */
  size: integer(),
  summary: json(summarySchema),
  createdAt: now(),
  content: unread(text()),
  annotations: unread(json(textsSchema)),
});
/** A manifest of a container image, without its bytes. */
export type ContainerManifest = RecordOf<typeof manifests>;

export interface NewContainerManifest extends Omit<
  ContainerManifest,
  "id" | "createdAt" | "subject"
> {
  readonly subject: string | undefined;
  readonly content: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Adds a manifest; undefined when the package has it. */
export function insertContainerManifest(
  tx: Transaction,
  manifest: NewContainerManifest,
): Promise<ContainerManifest | undefined> {
  return manifests.upsert(tx, manifest, "ON CONFLICT (package_id, digest) DO NOTHING");
}

const REFERENCES_PER_STATEMENT = 500;

/** Records which blobs and manifests a manifest names. */
export async function insertContainerReferences(
  tx: Transaction,
  manifestId: ContainerManifestId,
  digests: readonly string[],
): Promise<void> {
  for (let at = 0; at < digests.length; at += REFERENCES_PER_STATEMENT) {
    const some = digests.slice(at, at + REFERENCES_PER_STATEMENT);
    await tx.run(
      `INSERT INTO forge_container_references (manifest_id, digest) VALUES ${some.map(() => "(?, ?)").join(", ")}
       ON CONFLICT (manifest_id, digest) DO NOTHING`,
      ...some.flatMap((digest) => [manifestId, digest]),
    );
  }
}

export function findContainerManifest(
  db: Queries,
  packageId: PackageId,
  digest: string,
): Promise<ContainerManifest | undefined> {
  return manifests.find(db, { packageId, digest });
}

/** Returns the manifest of a version. */
export function findManifestOfVersion(
  db: Queries,
  versionId: PackageVersionId,
): Promise<ContainerManifest | undefined> {
  return manifests.find(
    db,
    sql`id = (SELECT v.manifest_id FROM forge_container_versions v WHERE v.version_id = ${versionId})`,
  );
}

/** Manifests of a query that reads their summaries, which may have some kilobytes. */
const SUMMARIES_PER_QUERY = 50;

/** Returns the bytes of those of the named manifests that a package has, with all that they name, by digest. */
export async function listManifestSizes(
  db: Queries,
  packageId: PackageId,
  digests: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (let at = 0; at < digests.length; at += SUMMARIES_PER_QUERY) {
    const digest = digests.slice(at, at + SUMMARIES_PER_QUERY);
    for (const manifest of await manifests.list(db, { packageId, digest }))
      found.set(manifest.digest, manifest.summary.size);
  }
  return found;
}

/** Returns the bytes of a manifest as text. */
export async function readContainerManifest(
  db: Queries,
  manifestId: ContainerManifestId,
): Promise<string | undefined> {
  const row = await db.get<{ content: string }>(
    "SELECT content FROM forge_container_manifests WHERE id = ?",
    manifestId,
  );
  return row?.content;
}

/** Returns the ids of the manifests that a manifest names and no other one does, and that have no tag. */
export async function listOrphanedManifests(
  db: Queries,
  { id: manifestId, packageId }: Pick<ContainerManifest, "id" | "packageId">,
): Promise<readonly Pick<ContainerManifest, "id">[]> {
  return db.all<{ id: ContainerManifestId }>(
    `SELECT c.id FROM forge_container_manifests c WHERE c.package_id = ? AND c.id <> ?
      AND c.digest IN (SELECT r.digest FROM forge_container_references r WHERE r.manifest_id = ?)
      AND NOT EXISTS (SELECT 1 FROM forge_container_references o JOIN forge_container_manifests n ON n.id = o.manifest_id
        WHERE o.digest = c.digest AND n.package_id = ? AND n.id <> ?)
      AND NOT EXISTS (SELECT 1 FROM forge_container_versions l JOIN forge_package_versions v ON v.id = l.version_id
        WHERE l.manifest_id = c.id AND v.version NOT LIKE '%:%')`,
    packageId,
    manifestId,
    manifestId,
    packageId,
    manifestId,
  );
}

export async function deleteContainerManifest(
  tx: Transaction,
  manifestId: ContainerManifestId,
): Promise<void> {
  await manifests.delete(tx, { id: manifestId });
}

/** Gives a version its manifest, or another one. */
export async function setVersionManifest(
  tx: Transaction,
  versionId: PackageVersionId,
  manifestId: ContainerManifestId,
): Promise<void> {
  await tx.run(
    `INSERT INTO forge_container_versions (version_id, manifest_id) VALUES (?, ?)
     ON CONFLICT (version_id) DO UPDATE SET manifest_id = excluded.manifest_id`,
    versionId,
    manifestId,
  );
}

/** Records that a version was published again, by another creator perhaps. */
export async function renewVersion(
  tx: Transaction,
  versionId: PackageVersionId,
  creatorId: UserId,
): Promise<void> {
  await versions.update(tx, { id: versionId }, { creatorId, createdAt: tx.now });
}

/** Returns the versions of a manifest: its tags, or its digest. */
export const listVersionsOfManifest = (
  db: Queries,
  manifestId: ContainerManifestId,
): Promise<ListedPackageVersion[]> =>
  versions.as("v").list(
    db,
    sql`forge_container_versions l JOIN forge_package_versions v ON v.id = l.version_id
      WHERE l.manifest_id = ${manifestId}`,
    { order: "v.version" },
  );

/** Returns the tags of an image after one of them, in the order of their bytes. */
export async function listContainerTags(
  db: Queries,
  packageId: PackageId,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<string[]> {
  const rows = await db.all<{ version: string }>(
    `SELECT version FROM forge_package_versions
     WHERE package_id = ? AND lower_version > ? AND version NOT LIKE '%:%' ORDER BY lower_version LIMIT ?`,
    packageId,
    after,
    limit,
  );
  return rows.map(({ version }) => version);
}

/** A manifest as a list of referrers shows it. */
export interface ContainerReferrer extends ContainerManifest {
  readonly annotations: Readonly<Record<string, string>>;
}

/** Returns manifests about a subject after one of them, in the order of their arrival; `artifactType` "" is any. */
export async function listContainerReferrers(
  db: Queries,
  { packageId, subject, artifactType, after }: ReferrerFilter,
  { limit, bytesMax }: { readonly limit: number; readonly bytesMax: number },
): Promise<{ readonly referrers: readonly ContainerReferrer[]; readonly hasMore: boolean }> {
  const type = artifactType === "" ? sql`1 = 1` : sql`artifact_type = ${artifactType}`;
  const found = await manifests.list(
    db,
    sql`package_id = ${packageId} AND subject = ${subject} AND id > ${after} AND ${type}`,
    { order: "id", limit: limit + 1 },
  );
  const referrers: ContainerReferrer[] = [];
  let bytes = 0;
  for (const manifest of found.slice(0, limit)) {
    // No annotation is longer than its manifest.
    bytes += manifest.size;
    if (bytes > bytesMax && referrers.length > 0) break;
    const row = await db.get<{ annotations: string }>(
      "SELECT annotations FROM forge_container_manifests WHERE id = ?",
      manifest.id,
    );
    if (row === undefined) continue;
    referrers.push({ ...manifest, annotations: textsSchema.parse(JSON.parse(row.annotations)) });
  }
  return { referrers, hasMore: referrers.length < found.length };
}

export interface ReferrerFilter {
  readonly packageId: PackageId;
  readonly subject: string;
  readonly artifactType: string;
  readonly after: number;
}

/** Returns the owners of images. */
export async function listContainerOwners(db: Queries): Promise<UserId[]> {
  const rows = await db.all<{ owner_id: UserId }>(
    "SELECT DISTINCT owner_id FROM forge_packages WHERE type = 'container'",
  );
  return rows.map((row) => row.owner_id);
}

/** Returns the blobs that a manifest names, with their sizes. */
export async function listBlobsOfManifest(
  db: Queries,
  manifestId: ContainerManifestId,
): Promise<{ readonly digest: string; readonly size: number }[]> {
  return db.all<{ digest: string; size: number }>(
    `SELECT b.digest AS digest, b.size AS size FROM forge_container_references r
     JOIN forge_container_manifests m ON m.id = r.manifest_id JOIN forge_packages p ON p.id = m.package_id
     JOIN forge_container_blobs b ON b.owner_id = p.owner_id AND b.image = p.lower_name AND b.digest = r.digest
     WHERE r.manifest_id = ? ORDER BY b.digest`,
    manifestId,
  );
}
