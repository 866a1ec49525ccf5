import { AppError } from "../../errors.ts";
import { FILE_BYTES_MAX, FILES_OF_PARENT_MAX } from "../issues/attachments.service.ts";

const MEBIBYTE = 1024 * 1024;

/** Responses for features that clients query and this server does not have, and the limits of attachments. */
export type MissingFeatures = ReturnType<typeof createMissingFeatures>;

export function createMissingFeatures({
  uploadBytesMax,
}: {
  /** Maximum bytes of any upload. */
  readonly uploadBytesMax: number;
}) {
  return {
    attachmentSettings: {
      enabled: true,
      /** Any type. */
      allowed_types: "",
      max_files: FILES_OF_PARENT_MAX,
      max_size: Math.floor(Math.min(FILE_BYTES_MAX, uploadBytesMax) / MEBIBYTE),
    },

    /** Refuses with `not_found`, because this server does not sign commits. */
    refuseSigningKey,
  };
}

function refuseSigningKey(): never {
  throw new AppError("not_found", "no signing key");
}

const REPOSITORY = "repos/[^/?]+/[^/?]+";

/** Unsupported features of the reference, and their addresses. */
const MISSING_FEATURES = (
  [
    ["hooks in git", `${REPOSITORY}/hooks/git`],
    ["OpenPGP keys", "user/(?:gpg_keys|gpg_key_token|gpg_key_verify)"],
    ["NodeInfo", "nodeinfo"],
    ["ActivityPub", "activitypub"],
  ] as const
).map(([name, path]) => ({ name, pattern: new RegExp(`^/api/v1/(?:${path})(?:[/?]|$)`) }));

/** Returns the text of the 404 at the address of an unsupported feature; undefined for any other address. */
export function describeMissingFeature(target: string): string | undefined {
  const missing = MISSING_FEATURES.find(({ pattern }) => pattern.test(target));
  return missing && `this server does not support ${missing.name}`;
}
