import { type ForgeUrls, toUrl } from "../../urls.ts";
import { type NpmMetadata, pick, toIntegrity } from "./manifest.ts";
import { type ManifestTexts, type NpmPackage, type NpmVersion, toRevision } from "./packument.ts";

/** The media type of installing clients: a packument with only the members that an installation needs. */
export const abbreviatedType = "application/vnd.npm.install-v1+json";

/** Writes npm's packument. `latest` is the metadata of the latest version. */
export async function* writePackument(
  npm: NpmPackage,
  manifests: ManifestTexts,
  latest: NpmMetadata | undefined,
  urls: ForgeUrls,
): AsyncGenerator<string> {
  const { name } = npm.package;
  const head = {
    ...pick(latest?.manifest ?? {}, shownOfLatest),
    _id: name,
    _rev: toRevision(npm.package),
    name,
    "dist-tags": Object.fromEntries(npm.tags),
  };
  const times = npm.versions.map(({ record }) => [record.version, toTime(record.createdAt)]);
  const tail = {
    time: {
      created: toTime(npm.package.createdAt),
      modified: toTime(npm.package.updatedAt),
      ...Object.fromEntries(times),
    },
    readme: latest?.readme ?? "",
  };
  yield* writeVersions(npm, manifests, head, urls);
  yield `,${JSON.stringify(tail).slice(1)}`;
}

/** Writes the abbreviated packument. */
export async function* writeAbbreviatedPackument(
  npm: NpmPackage,
  manifests: ManifestTexts,
  urls: ForgeUrls,
): AsyncGenerator<string> {
  const head = {
    name: npm.package.name,
    modified: toTime(npm.package.updatedAt),
    "dist-tags": Object.fromEntries(npm.tags),
  };
  yield* writeVersions(npm, manifests, head, urls);
  yield "}";
}

/** Writes an object without its end: `head` and the versions, each with its `dist` behind the members of its manifest. */
async function* writeVersions(
  npm: NpmPackage,
  manifests: ManifestTexts,
  head: object,
  urls: ForgeUrls,
): AsyncGenerator<string> {
  yield `${JSON.stringify(head).slice(0, -1)},"versions":{`;
  let separator = "";
  for await (const [version, manifest] of manifests) {
    const dist = JSON.stringify(toDist(npm, version, urls));
    const key = JSON.stringify(version.record.version);
    yield `${separator}${key}:${manifest.slice(0, -1)},"dist":${dist}}`;
    separator = ",";
  }
  yield "}";
}

const shownOfLatest = [
  "description",
  "keywords",
  "homepage",
  "bugs",
  "repository",
  "license",
  "author",
  "contributors",
] as const;

function toDist(npm: NpmPackage, { tarball }: NpmVersion, urls: ForgeUrls) {
  const path = `/api/packages/${npm.ownerName}/npm/${npm.package.name}/-/${encodeURIComponent(tarball.name)}`;
  return {
    integrity: toIntegrity(tarball),
    shasum: tarball.sha1,
    tarball: toUrl(urls, path),
  };
}

const toTime = (epochMs: number): string => new Date(epochMs).toISOString();
