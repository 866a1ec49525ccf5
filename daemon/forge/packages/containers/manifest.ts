import { containerTypes } from "../../../contract/forge/packages/containers.ts";
import type { ComputeFunction } from "../../compute.ts";
import { isDigest } from "./references.ts";

/** A manifest as it arrives. */
export interface ManifestInput {
  readonly text: string;
  /** The media type that the client declares. */
  readonly mediaType: string;
}

/** What the registry reads of a manifest. */
export interface ParsedManifest {
  /** Empty without one. */
  readonly artifactType: string;
  readonly subject: string | undefined;
  /** Digests of the blobs that must be there. */
  readonly blobs: readonly string[];
  /** Digests of the manifests that must be there. */
  readonly manifests: readonly string[];
  /** The configuration of an image that can run. */
  readonly config: string | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  /** Platforms of an index. */
  readonly platforms: readonly string[];
}

export type ManifestResult =
  | { readonly kind: "manifest"; readonly manifest: ParsedManifest }
  | { readonly kind: "invalid"; readonly reason: string };

/** Each descriptor costs rows. */
const DESCRIPTORS_MAX = 2_000;

const isIndex = (mediaType: string): boolean =>
  mediaType === containerTypes.index || mediaType === containerTypes.dockerIndex;

/** The configurations of images that can run. */
const CONFIGS = new Set([
  "application/vnd.oci.image.config.v1+json",
  "application/vnd.docker.container.image.v1+json",
]);

/** Parses a manifest and checks it by the image specification. */
export const readManifest: ComputeFunction<ManifestInput, ManifestResult> = {
  name: "read_container_manifest",
  cost: ({ text }) => text.length,
  length: ({ text }) => text.length,
  run({ text, mediaType }) {
    try {
      return { kind: "manifest", manifest: parse(JSON.parse(text), mediaType) };
    } catch (error) {
      if (error instanceof SyntaxError) return { kind: "invalid", reason: "it is not JSON" };
      if (error instanceof Invalid) return { kind: "invalid", reason: error.message };
      throw error;
    }
  },
};

class Invalid extends Error {}

type Json = Readonly<Record<string, unknown>>;

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly json: Json;
}

function parse(document: unknown, mediaType: string): ParsedManifest {
  const manifest = toObject(document, "it");
  if (manifest["schemaVersion"] !== 2) throw new Invalid("its schemaVersion is not 2");
  const own = manifest["mediaType"];
  if (own !== undefined && own !== mediaType)
    throw new Invalid("its mediaType is not that of the request");
  const subject =
    manifest["subject"] === undefined ? undefined : toDescriptor(manifest["subject"], "subject");
  const common = {
    subject: subject?.digest,
    annotations: toTexts(manifest["annotations"]),
  };
  const artifactType = toText(manifest["artifactType"]);
  assertTypeLength(artifactType, "its artifactType");
  if (isIndex(mediaType)) {
    refuseMembers(manifest, ["layers", "config"]);
    const children = toDescriptors(manifest["manifests"], "manifests");
    return {
      ...common,
      artifactType,
      blobs: [],
      manifests: toDigests(children),
      config: undefined,
      platforms: [
        ...new Set(children.map(({ json }) => toPlatform(json["platform"])).filter((one) => one)),
      ],
    };
  }
  refuseMembers(manifest, ["manifests"]);
  const config = toDescriptor(manifest["config"], "config");
  assertTypeLength(config.mediaType, "the mediaType of its config");
  const layers = toDescriptors(manifest["layers"], "layers");
  return {
    ...common,
    artifactType: artifactType === "" ? toText(config.mediaType) : artifactType,
    blobs: toDigests([config, ...layers.filter((layer) => !isForeign(layer))]),
    manifests: [],
    config: CONFIGS.has(config.mediaType) ? config.digest : undefined,
    platforms: [],
  };
}

/** Layers that their owners do not let others distribute are never uploaded. */
const isForeign = ({ mediaType }: Descriptor): boolean =>
  mediaType.includes("nondistributable") || mediaType.includes(".foreign.");

/** A document that is an image to one client and an index to another one could show each another content. */
function refuseMembers(manifest: Json, names: readonly string[]): void {
  for (const name of names)
    if (manifest[name] !== undefined) throw new Invalid(`it has ${name}, but another media type`);
}

/** Longest media type by RFC 6838: lists have one for each manifest. */
const TYPE_CHARACTERS_MAX = 255;

function assertTypeLength(type: string, name: string): void {
  if (type.length > TYPE_CHARACTERS_MAX)
    throw new Invalid(`${name} has more than ${TYPE_CHARACTERS_MAX} characters`);
}

const toDigests = (descriptors: readonly Descriptor[]): string[] => [
  ...new Set(descriptors.map(({ digest }) => digest)),
];

function toDescriptors(value: unknown, name: string): Descriptor[] {
  if (!Array.isArray(value)) throw new Invalid(`${name} is no list`);
  if (value.length > DESCRIPTORS_MAX)
    throw new Invalid(`${name} has more than ${DESCRIPTORS_MAX} entries`);
  return value.map((each) => toDescriptor(each, name));
}

function toDescriptor(value: unknown, name: string): Descriptor {
  const json = toObject(value, name);
  const { mediaType, digest, size } = json;
  if (typeof mediaType !== "string" || mediaType === "")
    throw new Invalid(`${name} has no mediaType`);
  if (typeof digest !== "string" || !isDigest(digest)) throw new Invalid(`${name} has no digest`);
  if (!Number.isSafeInteger(size) || (size as number) < 0) throw new Invalid(`${name} has no size`);
  return { mediaType, digest, json };
}

function toObject(value: unknown, name: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Invalid(`${name} is no object`);
  return value as Json;
}

/** Database texts have no NUL. */
const toText = (value: unknown): string =>
  typeof value === "string" ? value.replaceAll("\0", "") : "";

function toTexts(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  const texts = Object.entries(value).filter(([, text]) => typeof text === "string");
  return Object.fromEntries(texts.map(([name, text]) => [name, text as string]));
}

/** Far more than any platform has. */
const PLATFORM_CHARACTERS_MAX = 100;

function toPlatform(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  const { os, architecture, variant } = value as Json;
  // Attestations of builds have the platform unknown/unknown.
  if (os === "unknown" || typeof os !== "string" || typeof architecture !== "string") return "";
  return [os, architecture, variant]
    .filter((part) => part && typeof part === "string")
    .join("/")
    .slice(0, PLATFORM_CHARACTERS_MAX);
}

/** What pages show of the configuration of an image. */
export interface ImageConfig {
  readonly platform: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Reads platform and labels of a configuration; one that is not JSON has none. */
export const readImageConfig: ComputeFunction<string, ImageConfig> = {
  name: "read_container_config",
  cost: (text) => text.length,
  length: (text) => text.length,
  run(text) {
    try {
      const { config, ...platform } = toObject(JSON.parse(text), "it");
      const { Labels: labels } = (config ?? {}) as Json;
      return { platform: toPlatform(platform), labels: toTexts(labels) };
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof Invalid)
        return { platform: "", labels: {} };
      throw error;
    }
  },
};

const LABELS_MAX = 100;
const LABEL_CHARACTERS_MAX = 4_096;
/** All labels that are shown: each manifest keeps them, and many manifests may have one configuration. */
const SHOWN_CHARACTERS_MAX = 16 * 1024;

/** Returns the labels that pages show, shortened. */
export function toShownLabels(
  labels: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const cut = (part: string) => part.slice(0, LABEL_CHARACTERS_MAX);
  const shown: (readonly [name: string, text: string])[] = [];
  let room = SHOWN_CHARACTERS_MAX;
  for (const [name, text] of Object.entries(labels).slice(0, LABELS_MAX)) {
    const label = [cut(name), cut(text)] as const;
    room -= label[0].length + label[1].length;
    if (room < 0) break;
    shown.push(label);
  }
  return Object.fromEntries(shown);
}
