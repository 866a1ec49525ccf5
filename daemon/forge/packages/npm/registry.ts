import type { Readable } from "node:stream";
import type { ListedPackageVersion } from "../../../../storage/tables/forge/packages/packages.ts";
import type { ForgeCaller } from "../../caller.ts";
import type { GrantedPackages } from "../../opened.ts";
import type { PackageDownload } from "../downloads.ts";
import type { NpmMetadata, NpmSummary } from "./manifest.ts";
import type { NpmNameInPath } from "./names.ts";
import type { ManifestTexts, NpmPackage } from "./packument.ts";

/**
 * The npm registry of an owner. Every function throws `not_found` when the package is missing, and `invalid_argument` for
 * an invalid name.
 */
export interface NpmRegistry {
  view(opened: GrantedPackages, at: NpmNameInPath): Promise<NpmView>;
  download(
    opened: GrantedPackages,
    at: NpmNameInPath & { readonly filename: string },
  ): Promise<PackageDownload>;
  /**
   * Publishes the version of a document with an attachment; without an attachment, updates the deprecations. Refuses
   * with `conflict` an existing version, and with `invalid_argument` or `too_large` an invalid document. A refusal
   * changes nothing.
   */
  publish(
    opened: GrantedPackages,
    at: NpmNameInPath,
    body: Readable,
    caller: ForgeCaller,
  ): Promise<void>;
  /**
   * Unpublishes the versions that a document omits, and replaces tags and deprecations with those of the document.
   * Refuses with `conflict` when the package has changed since the revision, and with `invalid_argument` to remove all
   * versions.
   */
  revise(
    opened: GrantedPackages,
    at: NpmNameInPath & { readonly revision: string },
    body: Readable,
    caller: ForgeCaller,
  ): Promise<void>;
  /** Unpublishes a package. Refuses with `conflict` when the package has changed since the revision. */
  unpublish(
    opened: GrantedPackages,
    at: NpmNameInPath & { readonly revision: string },
    caller: ForgeCaller,
  ): Promise<void>;
  /** Unpublishes the version of a tarball. Has no effect when the package does not have the tarball. */
  removeTarball(
    opened: GrantedPackages,
    at: NpmNameInPath & { readonly filename: string },
    caller: ForgeCaller,
  ): Promise<void>;
  listTags(opened: GrantedPackages, at: NpmNameInPath): Promise<ReadonlyMap<string, string>>;
  /** The body is the version as JSON text. */
  setTag(
    opened: GrantedPackages,
    at: NpmNameInPath & { readonly tag: string },
    body: Readable,
    caller: ForgeCaller,
  ): Promise<void>;
  /** Refuses to remove `latest` with `invalid_argument`. */
  deleteTag(opened: GrantedPackages, at: NpmNameInPath & { readonly tag: string }): Promise<void>;
  search(
    opened: GrantedPackages,
    query: { readonly text: string; readonly size: number; readonly from: number },
  ): Promise<{ readonly packages: readonly NpmSearchHit[]; readonly total: number }>;
}

/** A package whose manifests are read while they are sent. */
export interface NpmView {
  readonly npm: NpmPackage;
  manifests(form: "whole" | "abbreviated"): ManifestTexts;
  /** Returns the metadata of the latest version. */
  latest(): Promise<NpmMetadata | undefined>;
}

/** A package that a search finds, with its latest version. */
export interface NpmSearchHit {
  readonly name: string;
  readonly ownerName: string;
  readonly latest: ListedPackageVersion;
  readonly summary: NpmSummary;
}
