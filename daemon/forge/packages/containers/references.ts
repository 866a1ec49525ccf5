// The container registry: the OCI distribution specification 1.1. Start here: names, digests and refusals. container-api.ts is its
// HTTP edge, uploads.service.ts receives blobs, manifests.service.ts keeps manifests, versions.ts their tags.
import { AppError, type ErrorCode } from "../../../errors.ts";

/** An image: its owner and its name, which may have slashes. */
export interface ImageAt {
  readonly owner: string;
  readonly name: string;
}

/** The type of packages that are images. */
export const CONTAINER = "container";

/** Longest name of an image, with its owner, as in other registries. */
const NAME_CHARACTERS_MAX = 255;
const NAME = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

export type DigestAlgorithm = "sha256" | "sha512";

/** The codes of refusals in the specification. */
type RegistryCode =
  | "BLOB_UNKNOWN"
  | "BLOB_UPLOAD_INVALID"
  | "BLOB_UPLOAD_UNKNOWN"
  | "DENIED"
  | "DIGEST_INVALID"
  | "MANIFEST_BLOB_UNKNOWN"
  | "MANIFEST_INVALID"
  | "MANIFEST_UNKNOWN"
  | "NAME_INVALID"
  | "NAME_UNKNOWN"
  | "PAGINATION_NUMBER_INVALID"
  | "SIZE_INVALID"
  | "TAG_INVALID"
  | "TOOMANYREQUESTS"
  | "UNAUTHORIZED";

/** Makes a refusal with a code of the specification. */
export function refuse(code: ErrorCode, registryCode: RegistryCode, message: string): AppError {
  return new AppError(code, message, { registryCode });
}

const digestInvalid = (digest: string): AppError =>
  refuse("invalid_argument", "DIGEST_INVALID", `${digest} is no digest of SHA-256 or SHA-512`);

export const imageUnknown = (): AppError =>
  refuse("not_found", "NAME_UNKNOWN", "the registry does not have this image");

/** Refuses an invalid name of an image. */
export function assertImageName({ owner, name }: ImageAt): void {
  if (owner.length + 1 + name.length > NAME_CHARACTERS_MAX || !NAME.test(name))
    throw refuse("invalid_argument", "NAME_INVALID", `${name} is no name of an image`);
}

/** Returns a digest; refuses another text. */
export function parseDigest(text: string): { readonly algorithm: DigestAlgorithm; hex: string } {
  if (!DIGEST.test(text)) throw digestInvalid(text);
  const [algorithm = "", hex = ""] = text.split(":");
  return { algorithm: algorithm as DigestAlgorithm, hex };
}

export const isDigest = (text: string): boolean => DIGEST.test(text);

/** What a client names a manifest by. */
export type Reference = { readonly tag: string } | { readonly digest: string };

/** Returns a tag or a digest; refuses another text. */
export function parseReference(text: string): Reference {
  if (text.includes(":")) {
    parseDigest(text);
    return { digest: text };
  }
  if (!TAG.test(text)) throw refuse("invalid_argument", "TAG_INVALID", `${text} is no tag`);
  return { tag: text };
}

/** Returns whether a version of a package is the digest of a manifest without a tag. */
export const isDigestVersion = (version: string): boolean => version.includes(":");

/** Largest page of a list, and that of a client which asks for none. */
const PAGE_MAX = 10_000;

/** Returns the size of a page that a client asks for. */
export function parsePageSize(text: string): number {
  if (text === "") return PAGE_MAX;
  if (!/^\d{1,9}$/.test(text))
    throw refuse("invalid_argument", "PAGINATION_NUMBER_INVALID", "n must be a number");
  return Math.min(Number(text), PAGE_MAX);
}
