import type { ProbeResult, ProviderCapabilities } from "../provider.ts";
import type { Findings, Spelling } from "./context.ts";

/** The best capabilities of this kind of storage: a server that enforces every condition, and a bucket with versions. */
export const s3Capabilities: ProviderCapabilities = {
  trash: true,
  permanentDelete: true,
  guardedRename: "atomic",
  guardedDelete: "atomic",
  guardedReplace: "atomic",
  createOnly: "atomic",
  folderMove: false,
  ids: "path",
  caseSensitive: true,
  normalisationSensitive: true,
  duplicateNames: false,
  quota: false,
  range: true,
  versionResolutionMs: 0,
  uploadNeedsSize: false,
};

/** Returns the capabilities of one connection from the results of its probe. */
export function toCapabilities({ guards, isVersioned }: Findings): ProviderCapabilities {
  const { put, multipart, copySource, copyDestination, remove, replace, replaceInParts } = guards;
  return {
    ...s3Capabilities,
    trash: isVersioned,
    guardedRename: copySource && copyDestination && remove ? "atomic" : "emulated",
    guardedDelete: remove ? "atomic" : "emulated",
    guardedReplace: replace && replaceInParts ? "atomic" : "emulated",
    createOnly: put && multipart ? "atomic" : "emulated",
  };
}

/** Returns the findings as the probe result of the connection. */
export function toProbeResult(findings: Findings): ProbeResult {
  const { guards, region, isVersioned, isWritable, keySpelling, prefixSpelling } = findings;
  const { listsDeletedFolders } = findings;
  return {
    region,
    conditional_put: guards.put,
    conditional_multipart: guards.multipart,
    conditional_copy_source: guards.copySource,
    conditional_copy_destination: guards.copyDestination,
    conditional_delete: guards.remove,
    conditional_replace: guards.replace,
    conditional_multipart_replace: guards.replaceInParts,
    versioned: isVersioned,
    lists_deleted_folders: listsDeletedFolders,
    writable: isWritable,
    key_spelling: keySpelling,
    prefix_spelling: prefixSpelling,
  };
}

/** Restores the findings from a probe result. Missing findings count as not proved. */
export function toFindings(probeResult: ProbeResult, region: string): Findings {
  const isProved = (name: string) => probeResult[name] === true;
  return {
    region: typeof probeResult["region"] === "string" ? probeResult["region"] : region,
    guards: {
      put: isProved("conditional_put"),
      multipart: isProved("conditional_multipart"),
      copySource: isProved("conditional_copy_source"),
      copyDestination: isProved("conditional_copy_destination"),
      remove: isProved("conditional_delete"),
      replace: isProved("conditional_replace"),
      replaceInParts: isProved("conditional_multipart_replace"),
    },
    isVersioned: isProved("versioned"),
    // Unknown until the next probe of an old connection: assumed, because hiding such a folder costs only requests.
    listsDeletedFolders: isProved("versioned") && probeResult["lists_deleted_folders"] !== false,
    isWritable: isProved("writable"),
    keySpelling: toSpelling(probeResult["key_spelling"]),
    prefixSpelling: toSpelling(probeResult["prefix_spelling"]),
  };
}

function toSpelling(value: ProbeResult[string] | undefined): Spelling {
  return value === "percent" || value === "none" ? value : "form";
}
