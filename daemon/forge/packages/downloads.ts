import type { Readable } from "node:stream";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import type { ForgePackageFile } from "../../../storage/tables/forge/packages/packages.ts";
import { openObject } from "../../utilities/open-object.ts";

export type PackageDownload = ReturnType<typeof createDownload>;

/** A file that the caller may download. */
export function createDownload(store: ObjectStore, file: ForgePackageFile) {
  return {
    file,
    /** Opens the bytes from `start` to `end`, both included. Refuses with `unavailable` when they are missing or damaged. */
    open: (range?: { readonly start: number; readonly end: number }): Promise<Readable> =>
      openObject(store, file, "file", range),
  };
}
