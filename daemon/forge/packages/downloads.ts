import type { Readable } from "node:stream";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import type { ForgePackageFile } from "../../../storage/tables/forge/packages/packages.ts";
import { openObject } from "../../utilities/open-object.ts";

/** A file that the caller may download. */
export interface PackageDownload {
  readonly file: ForgePackageFile;
  /** Opens the bytes from `start` to `end`, both included. Refuses with `unavailable` when they are missing or damaged. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
}

export function createDownload(store: ObjectStore, file: ForgePackageFile): PackageDownload {
  return {
    file,
    open: (range) => openObject(store, file, "file", range),
  };
}
