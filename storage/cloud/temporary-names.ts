import { Buffer } from "node:buffer";
import { cutToBytes, NAME_BYTES_MAX } from "./outcomes.ts";
import type { CloudProvider, ProviderDeps } from "./provider.ts";

type Deps = Pick<ProviderDeps, "home" | "newId" | "locks">;

/** Maximum number of renames that one open storage recovers; a server that lists more temporary names is faulty. */
const FINISHED_MAX = 100;

/**
 * Runs `work` with a temporary name that encodes the final one, for storages that cannot change only the case of a
 * name and need two renames. While it runs, no listing of this daemon recovers the rename.
 */
export function viaTemporaryName<T>(
  name: string,
  deps: Deps,
  work: (temporary: string) => Promise<T>,
): Promise<T> {
  const temporary = toTemporaryName(name, deps);
  // No other call has the name: the lock is a mark for the listings.
  return deps.locks.withSharedLock(toLockKey(temporary), () => work(temporary));
}

/** Wraps a storage: its listings finish the two-step renames that an earlier run of this daemon left unfinished. */
export function withFinishedRenames(provider: CloudProvider, deps: Deps): CloudProvider {
  const tried = new Set<string>();
  return {
    ...provider,
    async list(input) {
      const outcome = await provider.list(input);
      if (outcome.kind !== "ok") return outcome;
      let isChanged = false;
      for (const { id, name, kind, etag, parent } of outcome.items) {
        const target = targetOf(name, deps.home);
        if (target === undefined || tried.has(name) || tried.size >= FINISHED_MAX) continue;
        if (deps.locks.isLocked(toLockKey(name))) continue;
        tried.add(name);
        const expected = { etag, kind, name, parent };
        const ended = await provider.rename({ id, name: target, expected, signal: input.signal });
        isChanged ||= ended.kind === "ok";
      }
      return isChanged ? provider.list(input) : outcome;
    },
  };
}

/** Returns the temporary name of an item; shortens its stem to the longest name allowed. */
export function toTemporaryName(name: string, { home, newId }: Omit<Deps, "locks">): string {
  const suffix = `.croft-${home}-${newId().replaceAll("-", "").slice(-12)}`;
  return cutToBytes(name, NAME_BYTES_MAX - suffix.length) + suffix;
}

/** Returns the final name that a temporary one encodes; undefined for other names, and when it may have been shortened. */
function targetOf(name: string, home: string): string | undefined {
  const at = name.lastIndexOf(`.croft-${home}-`);
  if (at <= 0 || Buffer.byteLength(name) > NAME_BYTES_MAX - 4) return undefined;
  return /^-[0-9a-f]{12}$/.test(name.slice(name.lastIndexOf("-"))) ? name.slice(0, at) : undefined;
}

function toLockKey(temporary: string): string {
  return `temporary ${temporary}`;
}
