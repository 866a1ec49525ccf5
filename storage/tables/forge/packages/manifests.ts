import type { Queries, Transaction } from "../../../engine/database.ts";
import type { PackageId, PackageVersionId } from "../ids.ts";
import { versions } from "./packages.ts";

/** The metadata of a version, and its forms. A version from before these were stored has only its metadata. */
export interface StoredManifest {
  readonly versionId: PackageVersionId;
  /** JSON, as in `ForgePackageVersion`. */
  readonly metadata: string;
  /** Characters of the manifest in `metadata`. */
  readonly manifestLength: number | undefined;
}

/** Forms of a manifest, as JSON. */
export interface ManifestForms {
  readonly manifestLength: number;
  /** The members that an installation needs. */
  readonly abbreviated: string;
  /** The members that a search shows. */
  readonly summary: string;
}

/** Stores the forms of a version's manifest, and its metadata if that has changed. */
export async function setManifest(
  tx: Transaction,
  id: PackageVersionId,
  { manifestLength, abbreviated, summary }: ManifestForms,
  metadata?: string,
): Promise<void> {
  const forms = { manifestLength, abbreviated, summary };
  await versions.update(tx, { id }, metadata === undefined ? forms : { ...forms, metadata });
}

/** Counts the versions of a package and the characters of all of their manifests. */
export async function sumManifests(
  db: Queries,
  packageId: PackageId,
): Promise<{ readonly versions: number; readonly characters: number }> {
  const row = await db.get<{ versions: number; characters: number | null }>(
    `SELECT COUNT(*) AS versions, SUM(COALESCE(manifest_length, LENGTH(metadata))) AS characters
     FROM forge_package_versions WHERE package_id = ?`,
    packageId,
  );
  return { versions: Number(row?.versions ?? 0), characters: Number(row?.characters ?? 0) };
}

/** Returns the characters of each version's manifest, by the version's id. */
export async function listManifestLengths(
  db: Queries,
  packageId: PackageId,
): Promise<Map<PackageVersionId, number>> {
  const rows = await db.all<{ id: PackageVersionId; characters: number }>(
    `SELECT id, COALESCE(manifest_length, LENGTH(metadata)) AS characters FROM forge_package_versions WHERE package_id = ?`,
    packageId,
  );
  return new Map(rows.map(({ id, characters }) => [id, Number(characters)]));
}

/** Returns the metadata of versions, by their ids. */
export async function listMetadata(
  db: Queries,
  ids: readonly PackageVersionId[],
): Promise<Map<PackageVersionId, StoredManifest>> {
  const rows = await db.all<{
    id: PackageVersionId;
    metadata: string;
    manifest_length: number | null;
  }>(
    `SELECT id, metadata, manifest_length FROM forge_package_versions WHERE id IN (${toMarks(ids)})`,
    ...ids,
  );
  return new Map(
    rows.map((row) => [
      row.id,
      {
        versionId: row.id,
        metadata: row.metadata,
        manifestLength: row.manifest_length ?? undefined,
      },
    ]),
  );
}

/** Returns a stored form of versions, by their ids; of those without it, the metadata. */
export async function listForms(
  db: Queries,
  ids: readonly PackageVersionId[],
  form: "abbreviated" | "summary",
): Promise<Map<PackageVersionId, { readonly text: string } | { readonly metadata: string }>> {
  const rows = await db.all<{ id: PackageVersionId; text: string | null; metadata: string | null }>(
    `SELECT id, ${form} AS text, CASE WHEN ${form} IS NULL THEN metadata END AS metadata
     FROM forge_package_versions WHERE id IN (${toMarks(ids)})`,
    ...ids,
  );
  return new Map(
    rows.map(({ id, text, metadata }) => [
      id,
      text === null ? { metadata: metadata ?? "" } : { text },
    ]),
  );
}

function toMarks(ids: readonly unknown[]): string {
  return ids.map(() => "?").join(", ");
}
