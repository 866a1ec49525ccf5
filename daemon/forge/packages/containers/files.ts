import type { Queries } from "../../../../storage/engine/database.ts";
import {
  findManifestOfVersion,
  listBlobsOfManifest,
} from "../../../../storage/tables/forge/packages/containers.ts";
import type { PackageVersionId } from "../../../../storage/tables/forge/ids.ts";
import type { WirePackageFile } from "../../../contract/forge/packages/admin-packages.ts";

/** Returns a version of an image as files: its manifest and its blobs, with the digests that name them. */
export async function listImageFiles(
  db: Queries,
  versionId: PackageVersionId,
): Promise<Omit<WirePackageFile, "id">[]> {
  const manifest = await findManifestOfVersion(db, versionId);
  // Deleted between two queries.
  if (manifest === undefined) return [];
  const blobs = await listBlobsOfManifest(db, manifest.id);
  return [
    { ...toDigests(manifest.digest), name: "manifest.json", size: manifest.size },
    ...blobs.map(({ digest, size }) => ({
      ...toDigests(digest),
      name: digest.replace(":", "_"),
      size,
    })),
  ];
}

function toDigests(digest: string) {
  const [algorithm, hex = ""] = digest.split(":");
  const of = (name: string) => (algorithm === name ? hex : "");
  return { md5: "", sha1: "", sha256: of("sha256"), sha512: of("sha512") };
}
