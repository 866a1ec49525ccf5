import type { Guarding, Powers } from "../../../../storage/cloud/provider.ts";
import type { Capabilities, Guarantee } from "../../../../storage/tables/vault/connections.ts";

/** The capabilities of an open storage, as stored with its connection and shown to its owner. */
export function toCapabilities(can: Powers): Capabilities {
  return {
    createOnly: toGuarantee(can.createOnly),
    // Adapters guard both in the same way: a move is a rename with another folder.
    rename: toGuarantee(can.guardedRename),
    move: toGuarantee(can.guardedRename),
    deletePrecondition: toGuarantee(can.guardedDelete),
    replacePrecondition: toGuarantee(can.guardedReplace),
    trash: can.trash,
    range: can.range,
    quota: can.quota,
    folderRename: can.folderMove,
  };
}

function toGuarantee(guarding: Guarding): Guarantee {
  return guarding === "no" ? "none" : guarding;
}
