import { z } from "zod";
import type { ObjectDigests } from "../../../../storage/objects/object-store.ts";
import { AppError } from "../../../errors.ts";
import type { ManifestForms } from "../../../../storage/tables/forge/packages/manifests.ts";
import { assertNpmTag, isNpmVersion } from "./names.ts";

/** The stored metadata of a version: the published manifest without `dist`, which each response computes, and the readme. */
export interface NpmMetadata {
  readonly manifest: Readonly<Record<string, unknown>>;
  readonly readme: string;
}

export const npmMetadataSchema: z.ZodType<NpmMetadata> = z.object({
  manifest: z.record(z.string(), z.unknown()),
  readme: z.string().default(""),
});

/** A validated version to publish. */
export interface NpmVersionInput {
  readonly version: string;
  readonly tags: readonly string[];
  readonly metadata: NpmMetadata;
}

/** Largest manifest of a version, in bytes of JSON. */
export const MANIFEST_BYTES_MAX = 1024 * 1024;
/** Maximum characters of a stored readme. */
export const README_CHARACTERS_MAX = 64 * 1024;

const text = z.string();
const manifestShape = z.looseObject({
  name: text,
  version: text,
  dist: z
    .looseObject({
      integrity: text.optional(),
      shasum: text.optional(),
    })
    .optional(),
  readme: z.unknown().optional(),
  deprecated: z.unknown().optional(),
});
const documentShape = z.looseObject({
  name: text.optional(),
  readme: z.unknown().optional(),
  "dist-tags": z.record(text, text).nullish(),
  versions: z.record(text, manifestShape).nullish(),
  _attachments: z.record(text, z.looseObject({ length: z.number().optional() })).nullish(),
});

/** A publish document of npm with the members that this server reads. */
export type NpmDocument = z.output<typeof documentShape>;

/** Validates a publish document. Refuses with `invalid_argument` one that is malformed or about another package. */
export function toNpmDocument(value: unknown, name: string): NpmDocument {
  const parsed = documentShape.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = issue?.path.map(String).join(".").slice(0, 100);
    throw invalid(
      `the document is not what npm sends${where === undefined ? "" : ` at "${where}"`}`,
    );
  }
  if (parsed.data.name !== undefined && parsed.data.name !== name)
    throw invalid("the document is about another package than the URL");
  return parsed.data;
}

/**
 * Returns the one version that a document publishes. Refuses with `invalid_argument` an invalid name, version or tag, and
 * a size or digest that does not match the uploaded bytes; with `too_large` a manifest over the limit.
 */
export function toNpmVersionInput(
  document: NpmDocument,
  name: string,
  attachment: { readonly name: string; readonly digests: ObjectDigests },
): NpmVersionInput {
  const versions = Object.entries(document.versions ?? {});
  const [only] = versions;
  if (only === undefined || versions.length > 1)
    throw invalid("the document must have exactly one version beside its attachment");
  const [version, { dist, readme, ...manifest }] = only;
  if (!isNpmVersion(version) || manifest.version !== version) throw invalid("invalid version");
  if (manifest.name !== name) throw invalid("the version is of another package than the URL");
  assertBytes(dist ?? {}, attachment.digests);
  const length = document._attachments?.[attachment.name]?.length;
  if (length !== undefined && length !== attachment.digests.size)
    throw invalid("the attachment is not as long as the document says");
  if (Buffer.byteLength(JSON.stringify(manifest)) > MANIFEST_BYTES_MAX)
    throw new AppError("too_large", `The manifest is larger than ${MANIFEST_BYTES_MAX} bytes.`);
  return {
    version,
    tags: toTags(document, version),
    metadata: { manifest, readme: toReadme(document.readme ?? readme) },
  };
}

/** Returns the validated tags of a document. */
export function listDocumentTags(document: NpmDocument): [tag: string, version: string][] {
  const tags = Object.entries(document["dist-tags"] ?? {});
  for (const [tag] of tags) assertNpmTag(tag);
  return tags;
}

/** Returns the subresource integrity string that npm expects. */
export function toIntegrity({ sha512 }: { readonly sha512: string }): string {
  return `sha512-${Buffer.from(sha512, "hex").toString("base64")}`;
}

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

/** Returns the members of a manifest that an installation needs. */
export function toAbbreviated(
  manifest: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return {
    ...pick(manifest, abbreviatedMembers),
    ...(hasInstallScript(manifest) ? { hasInstallScript: true } : {}),
  };
}

/** Bounds of a search result: characters of a description and a keyword, and number of keywords. */
const SUMMARY_CHARACTERS_MAX = 1_000;
const KEYWORDS_MAX = 50;

/** The members of a manifest that a search shows. */
export interface NpmSummary {
  readonly description: string;
  readonly keywords: readonly string[];
}

export const npmSummarySchema: z.ZodType<NpmSummary> = z.object({
  description: z.string(),
  keywords: z.array(z.string()),
});

/** Returns the members of a manifest that a search shows, within bounds. */
export function toSummary({ description, keywords }: NpmMetadata["manifest"]): NpmSummary {
  const cut = (word: string) => word.slice(0, SUMMARY_CHARACTERS_MAX).toWellFormed();
  return {
    description: typeof description === "string" ? cut(description) : "",
    keywords: Array.isArray(keywords)
      ? keywords
          .slice(0, KEYWORDS_MAX)
          .filter((word) => typeof word === "string")
          .map(cut)
      : [],
  };
}

/** Returns the JSON of metadata as it is stored, and the forms of its manifest. */
export function toStored(metadata: NpmMetadata): {
  readonly metadata: string;
  readonly forms: ManifestForms;
} {
  const { manifest, readme } = metadata;
  return {
    // `manifestLength` counts from behind the first member's name.
    metadata: JSON.stringify({ manifest, readme }),
    forms: {
      manifestLength: JSON.stringify(manifest).length,
      abbreviated: JSON.stringify(toAbbreviated(manifest)),
      summary: JSON.stringify(toSummary(manifest)),
    },
  };
}

function hasInstallScript({ scripts }: Readonly<Record<string, unknown>>): boolean {
  if (typeof scripts !== "object" || scripts === null) return false;
  return ["preinstall", "install", "postinstall"].some((name) => Object.hasOwn(scripts, name));
}

/** Returns the own members of `from` that have one of the names. */
export function pick(
  from: Readonly<Record<string, unknown>>,
  members: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(
    members.filter((name) => Object.hasOwn(from, name)).map((name) => [name, from[name]]),
  );
}

function toTags(document: NpmDocument, version: string): string[] {
  const tags = listDocumentTags(document);
  if (tags.some(([, tagged]) => tagged !== version))
    throw invalid("a tag is for another version than the one that is published");
  return tags.length === 0 ? ["latest"] : tags.map(([tag]) => tag);
}

function assertBytes(
  claimed: { readonly integrity?: string | undefined; readonly shasum?: string | undefined },
  digests: ObjectDigests,
): void {
  if (digests.size === 0) throw invalid("the tarball is empty");
  const { shasum, integrity } = claimed;
  if (shasum !== undefined && shasum.toLowerCase() !== digests.sha1)
    throw invalid("the tarball does not match its shasum");
  if (integrity === undefined) return;
  for (const claim of integrity.trim().split(/\s+/)) {
    const [algorithm, digest] = claim.split("?")[0]?.split(/-(.*)/) ?? [];
    if (algorithm !== "sha512" && algorithm !== "sha256" && algorithm !== "sha1") continue;
    if (digest !== Buffer.from(digests[algorithm], "hex").toString("base64"))
      throw invalid("the tarball does not match its integrity");
  }
}

function toReadme(readme: unknown): string {
  return typeof readme === "string" ? readme.slice(0, README_CHARACTERS_MAX).toWellFormed() : "";
}

function invalid(message: string): AppError {
  return new AppError("invalid_argument", message);
}
