import type { Readable } from "node:stream";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import type { ForgePackageFile } from "../../../storage/tables/forge/packages/packages.ts";
import { AppError } from "../../errors.ts";

/** A file that the caller may download. */
export interface PackageDownload {
  readonly file: ForgePackageFile;
  /** Opens the bytes from `start` to `end`, both included. Refuses with `unavailable` when they are missing or damaged. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
}

export function createDownload(store: ObjectStore, file: ForgePackageFile): PackageDownload {
  return {
    file,
    async open(range) {
      const opened = await store.open(file.sha256, file.size, range);
      if (opened === undefined)
        throw new AppError("unavailable", "the bytes of this file are missing or damaged");
      return opened;
    },
  };
}
