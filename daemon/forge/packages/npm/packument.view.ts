import type {
  WireAbbreviatedPackument,
  WirePackument,
} from "../../../contract/forge/packages/npm.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import { toIntegrity } from "./manifest.ts";
import { findLatest, type NpmPackage, type NpmVersion, toRevision } from "./packument.ts";

/** The media type of installing clients: a packument with only the members that an installation needs. */
export const abbreviatedType = "application/vnd.npm.install-v1+json";

const abbreviatedMembers = [
  "name",
  "version",
  "deprecated",
  "dependencies",
  "optionalDependencies",
  "devDependencies",
  "bundleDependencies",
  "bundledDependencies",
  "peerDependencies",
  "peerDependenciesMeta",
  "acceptDependencies",
  "bin",
  "directories",
  "engines",
  "os",
  "cpu",
  "libc",
  "funding",
  "_hasShrinkwrap",
] as const;

/** Converts a package with its versions to npm's packument. */
export function toPackument(npm: NpmPackage, urls: ForgeUrls): WirePackument {
  const { name } = npm.package;
  const latest = findLatest(npm);
  const times = npm.versions.map(({ record }) => [record.version, toTime(record.createdAt)]);
  return {
    ...pick(latest?.metadata.manifest ?? {}, shownOfLatest),
    _id: name,
    _rev: toRevision(npm.package),
    name,
    "dist-tags": Object.fromEntries(npm.tags),
    versions: toVersions(npm, urls, (version) => version.metadata.manifest),
    time: {
      created: toTime(npm.package.createdAt),
      modified: toTime(npm.package.updatedAt),
      ...Object.fromEntries(times),
    },
    readme: latest?.metadata.readme ?? "",
  };
}

/** Converts a package to the abbreviated packument. */
export function toAbbreviatedPackument(npm: NpmPackage, urls: ForgeUrls): WireAbbreviatedPackument {
  return {
    name: npm.package.name,
    modified: toTime(npm.package.updatedAt),
    "dist-tags": Object.fromEntries(npm.tags),
    versions: toVersions(npm, urls, ({ metadata: { manifest } }) => ({
      ...pick(manifest, abbreviatedMembers),
      ...(hasInstallScript(manifest) ? { hasInstallScript: true } : {}),
    })),
  };
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

function toVersions(
  npm: NpmPackage,
  urls: ForgeUrls,
  toManifest: (version: NpmVersion) => Readonly<Record<string, unknown>>,
): WirePackument["versions"] {
  const { name } = npm.package;
  return Object.fromEntries(
    npm.versions.map((version) => {
      const { version: number } = version.record;
      const manifest = { ...toManifest(version), name, version: number };
      return [number, { ...manifest, dist: toDist(npm, version, urls) }];
    }),
  );
}

function toDist(npm: NpmPackage, { tarball }: NpmVersion, urls: ForgeUrls) {
  const path = `/api/packages/${npm.ownerName}/npm/${npm.package.name}/-/${encodeURIComponent(tarball.name)}`;
  return {
    integrity: toIntegrity(tarball),
    shasum: tarball.sha1,
    tarball: toUrl(urls, path),
  };
}

function hasInstallScript({ scripts }: Readonly<Record<string, unknown>>): boolean {
  if (typeof scripts !== "object" || scripts === null) return false;
  return ["preinstall", "install", "postinstall"].some((name) => Object.hasOwn(scripts, name));
}

function pick(
  from: Readonly<Record<string, unknown>>,
  members: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(
    members.filter((name) => Object.hasOwn(from, name)).map((name) => [name, from[name]]),
  );
}

const toTime = (epochMs: number): string => new Date(epochMs).toISOString();
