import { MANIFEST_BYTES_MAX, README_CHARACTERS_MAX } from "./manifest.ts";

/** A publish document of which only the members are left that this server reads. */
export type CompactDocument =
  | { readonly kind: "document"; readonly value: unknown }
  | { readonly kind: "invalid"; readonly message: string }
  | { readonly kind: "too_large"; readonly message: string };

/** Maximum versions and tags of a package. */
export const VERSIONS_MAX = 8_000;
export const TAGS_MAX = 1_000;

/** Attachments that are kept: more than one is refused. */
const ATTACHMENTS_KEPT = 2;

/**
 * Parses a publish document and reduces it. npm sends a package with all of its versions to change one of them, so of
 * several versions only the names and deprecations are left.
 */
export const compactNpmDocument = {
  name: "compactNpmDocument",
  cost: (text: string) => text.length,
  length: (text: string) => text.length,
  run(text: string): CompactDocument {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return { kind: "invalid", message: "the document is not valid JSON" };
    }
    if (!isRecord(value)) return { kind: "document", value: isShort(value) ? value : "" };
    const { name, readme, versions, "dist-tags": tags, _attachments: attachments } = value;
    if (countOf(versions) > VERSIONS_MAX || countOf(tags) > TAGS_MAX)
      return { kind: "too_large", message: "The document has too many versions or tags." };
    const manifests = isRecord(versions) ? Object.values(versions) : [];
    if (manifests.length === 1 && JSON.stringify(manifests[0]).length > MANIFEST_BYTES_MAX)
      return {
        kind: "too_large",
        message: `The manifest is larger than ${MANIFEST_BYTES_MAX} bytes.`,
      };
    return {
      kind: "document",
      value: {
        ...(isShort(name) ? { name } : { name: "" }),
        ...(typeof readme === "string" ? { readme: readme.slice(0, README_CHARACTERS_MAX) } : {}),
        ...(tags === undefined ? {} : { "dist-tags": shortMembers(tags) }),
        ...(versions === undefined
          ? {}
          : { versions: manifests.length > 1 ? mapMembers(versions, toListed) : versions }),
        ...(attachments === undefined
          ? {}
          : { _attachments: mapMembers(attachments, toLength, ATTACHMENTS_KEPT) }),
      },
    };
  },
};

const TEXT_LENGTH_MAX = 16 * 1024;

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns whether a value is a scalar of moderate length, or absent. */
function isShort(value: unknown): boolean {
  return typeof value === "string" ? value.length <= TEXT_LENGTH_MAX : typeof value !== "object";
}

function countOf(value: unknown): number {
  return isRecord(value) ? Object.keys(value).length : 0;
}

/** Maps the members of a record. Any other value stays as it is, for the schema to refuse. */
function mapMembers(
  value: unknown,
  map: (member: unknown) => unknown,
  countMax = VERSIONS_MAX,
): unknown {
  if (!isRecord(value)) return value === null ? null : [];
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, countMax)
      .map(([name, member]) => [name, map(member)]),
  );
}

const shortMembers = (value: unknown) =>
  mapMembers(value, (member) => (isShort(member) ? member : []));

function toListed(manifest: unknown): unknown {
  if (!isRecord(manifest)) return [];
  const { name, version, deprecated } = manifest;
  return {
    name: isShort(name) ? name : [],
    version: isShort(version) ? version : [],
    ...(deprecated === undefined
      ? {}
      : { deprecated: isShort(deprecated) ? deprecated : "x".repeat(TEXT_LENGTH_MAX) }),
  };
}

function toLength(attachment: unknown): unknown {
  if (!isRecord(attachment)) return [];
  const { length } = attachment;
  return length === undefined ? {} : { length: isShort(length) ? length : [] };
}
