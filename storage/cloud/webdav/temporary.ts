import type { ProbeResult, ProviderDeps } from "../provider.ts";

/** Parses a temporary name: of this daemon, and of any. */
const TEMPORARY_NAME = /^\.?croft-(?:([a-z0-9]{1,32})-)?[0-9a-f-]{36}\.tmp$/i;
const DAY_MS = 86_400_000;

type Deps = Pick<ProviderDeps, "home" | "newId" | "locks">;

/**
 * Runs `work` with a unique temporary name. While it runs, no listing of this daemon treats an item of that name as a
 * leftover.
 */
export function withTemporaryName<T>(
  deps: Deps,
  probeResult: ProbeResult,
  work: (name: string) => Promise<T>,
): Promise<T> {
  // Some servers hide or refuse names that begin with a dot.
  const name = `${probeResult["dot_names"] === false ? "" : "."}croft-${deps.home}-${deps.newId()}.tmp`;
  // No other call has the name: the lock is a mark for the listings.
  return deps.locks.withSharedLock(toLockKey(name), () => work(name));
}

export function isTemporaryName(name: string): boolean {
  return TEMPORARY_NAME.test(name);
}

/**
 * Returns whether a listing hides an item because an upload, perhaps of another daemon, may still need it. A leftover of a
 * crash appears after a day and can then be deleted like any item.
 */
export function isHidden(name: string, modifiedAt: number | undefined, serverNow: number): boolean {
  return TEMPORARY_NAME.test(name) && serverNow - (modifiedAt ?? serverNow) < DAY_MS;
}

/** Returns whether an item is a leftover of an earlier run of this daemon. */
export function isRemainder(name: string, { home, locks }: Pick<Deps, "home" | "locks">): boolean {
  return TEMPORARY_NAME.exec(name)?.[1] === home && !locks.isLocked(toLockKey(name));
}

function toLockKey(name: string): string {
  return `webdav temporary ${name}`;
}
