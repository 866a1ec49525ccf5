import type { Guarding, ProviderCapabilities } from "../../../../storage/cloud/provider.ts";
import type { Capabilities, Guarantee } from "../../../../storage/tables/vault/connections.ts";

/** The capabilities of an open storage, as stored with its connection and shown to its owner. */
export function toCapabilities(capabilities: ProviderCapabilities): Capabilities {
  return {
    createOnly: toGuarantee(capabilities.createOnly),
    // Adapters check both in the same way, because a move is a rename into another folder.
    rename: toGuarantee(capabilities.guardedRename),
    move: toGuarantee(capabilities.guardedRename),
    deletePrecondition: toGuarantee(capabilities.guardedDelete),
    replacePrecondition: toGuarantee(capabilities.guardedReplace),
    trash: capabilities.trash,
    range: capabilities.range,
    quota: capabilities.quota,
    folderRename: capabilities.folderMove,
  };
}

function toGuarantee(guarding: Guarding): Guarantee {
  return guarding === "no" ? "none" : guarding;
}
