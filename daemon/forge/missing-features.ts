import type { Database } from "../../storage/engine/database.ts";
import { AppError } from "../errors.ts";
import type { ForgeCaller } from "./caller.ts";
import { FILE_BYTES_MAX, FILES_OF_PARENT_MAX } from "./issues/attachments.service.ts";
import { openRepository } from "./issues/issue-access.ts";
import type { RepositoryPath } from "./repositories/repositories.service.ts";

const MEBIBYTE = 1024 * 1024;

/** Responses for features that clients query and this server does not have, and the limits of attachments. */
export type MissingFeatures = ReturnType<typeof createMissingFeatures>;

export function createMissingFeatures({
  db,
  uploadBytesMax,
}: {
  readonly db: Database;
  /** Bytes of an upload of any kind. */
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

    /** Refuses with `not_found`: this server signs no commits. */
    refuseSigningKey,

    /** Refuses as `refuseSigningKey`, after the checks of a repository that the caller may not read. */
    async refuseSigningKeyOf(
      path: RepositoryPath,
      caller: ForgeCaller | undefined,
      rest: string,
    ): Promise<never> {
      await openRepository(db, path, caller, rest);
      return refuseSigningKey();
    },

    /** Refuses with `forbidden`, as the reference does where migrations are turned off. */
    refuseMigration(): never {
      throw new AppError(
        "forbidden",
        "the site administrator has disabled migrations: clone the repository and push it here",
      );
    },
  };
}

function refuseSigningKey(): never {
  throw new AppError("not_found", "no signing key");
}
