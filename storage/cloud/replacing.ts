import type { Failure } from "./outcomes.ts";
import type { CloudProvider, ProviderDeps, Replacement } from "./provider.ts";
import type { ItemOutcome } from "./item.ts";
import { viaTemporaryName } from "./temporary-names.ts";

/**
 * Replaces the bytes of a file if it is still as expected; otherwise changes nothing and returns `stale`. Uses the
 * provider's `replace` if there is one, else `swapFile`.
 */
export async function replaceFile(
  provider: CloudProvider,
  replacement: Replacement,
  deps: Pick<ProviderDeps, "home" | "newId" | "locks">,
): Promise<ItemOutcome> {
  try {
    return await (provider.replace === undefined
      ? swapFile(provider, replacement, deps)
      : provider.replace(replacement));
  } finally {
    replacement.content.destroy();
  }
}

/**
 * Replaces a file of a provider without such a request: uploads the bytes completely under a temporary name, deletes
 * the file under its precondition (into the trash where there is one), and renames the new one. A crash before the
 * last step leaves the new bytes under the temporary name, which the next listing renames where the adapter recovers
 * renames.
 */
export async function swapFile(
  provider: Pick<CloudProvider, "stat" | "upload" | "delete" | "rename">,
  replacement: Replacement,
  deps: Pick<ProviderDeps, "home" | "newId" | "locks">,
): Promise<ItemOutcome> {
  const { id, expected, signal } = replacement;
  const found = await provider.stat({ id, signal });
  if (found.kind !== "ok") return toFailure(found);
  const { name, parent, kind, etag } = found.item;
  if (kind === "folder") return { kind: "unsupported", reason: "folder" };
  if (expected.etag !== undefined && etag !== expected.etag) return { kind: "stale" };
  return viaTemporaryName(name, deps, async (temporary) => {
    const uploaded = await provider.upload({ ...replacement, parent, name: temporary });
    if (uploaded.kind !== "ok") return uploaded;
    const { item } = uploaded;
    // From here on, an abort must not leave the replacement half done.
    const steady = new AbortController().signal;
    const now = { id: item.id, expected: { etag: item.etag }, signal: steady };
    const deleted = await provider.delete({ id, expected: { etag, kind }, signal: steady });
    if (deleted.kind !== "ok") {
      await provider.delete({ ...now, permanently: true });
      return deleted;
    }
    const renamed = await provider.rename({ ...now, name });
    return renamed.kind === "ok"
      ? renamed
      : { kind: "unknown_outcome", note: "under_temporary_name" };
  });
}

/** Maps a failed lookup; a missing item counts as changed. */
function toFailure(
  failure: Exclude<Awaited<ReturnType<CloudProvider["stat"]>>, { kind: "ok" }>,
): Failure {
  switch (failure.kind) {
    case "not_found":
    case "changed":
    case "range_not_satisfiable":
      return { kind: "stale" };
    default:
      return failure;
  }
}
