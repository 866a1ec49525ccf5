import type { Facts, ProviderDeps } from "../provider.ts";

/** What an own temporary name looks like: of which daemon, and which of all. */
const TEMPORARY_NAME = /^\.?croft-(?:([a-z0-9]{1,32})-)?[0-9a-f-]{36}\.tmp$/i;
const DAY_MS = 86_400_000;

type Deps = Pick<ProviderDeps, "home" | "newId" | "locks">;

/**
 * Gives `work` a name under which something lies for a moment; nobody guesses it. As long as it runs no listing of this
 * daemon takes what bears it for a remainder.
 */
export function withTemporaryName<T>(
  deps: Deps,
  facts: Facts,
  work: (name: string) => Promise<T>,
): Promise<T> {
  // Some servers show and take no names that begin with a dot.
  const name = `${facts["dot_names"] === false ? "" : "."}croft-${deps.home}-${deps.newId()}.tmp`;
  return deps.locks.withLocks([toLockKey(name)], () => work(name));
}

export function isTemporaryName(name: string): boolean {
  return TEMPORARY_NAME.test(name);
}

/**
 * Whether a listing leaves an item out because an upload, of another daemon perhaps, may still need it. What a crash has left
 * there appears after a day, to be deleted like anything else.
 */
export function isHidden(name: string, modifiedAt: number | undefined, serverNow: number): boolean {
  return TEMPORARY_NAME.test(name) && serverNow - (modifiedAt ?? serverNow) < DAY_MS;
}

/** Whether an earlier run of this daemon has left something under a name: it was of no use to anybody. */
export function isRemainder(name: string, { home, locks }: Pick<Deps, "home" | "locks">): boolean {
  return TEMPORARY_NAME.exec(name)?.[1] === home && !locks.isLocked(toLockKey(name));
}

function toLockKey(name: string): string {
  return `webdav temporary ${name}`;
}
