import { Buffer } from "node:buffer";
import { NAME_BYTES_MAX } from "./outcomes.ts";
import type { CloudProvider, ProviderDeps } from "./provider.ts";

type Deps = Pick<ProviderDeps, "home" | "newId" | "locks">;

/** Renames that one open storage finishes: a server that lists more leftovers makes them up. */
const FINISHED_MAX = 100;

/**
 * Runs `work` with a temporary name that tells where the item belongs, for storages that cannot change only the case of a
 * name and need two renames. While it runs, no listing of this daemon finishes the rename.
 */
export function viaTemporaryName<T>(
  name: string,
  deps: Deps,
  work: (temporary: string) => Promise<T>,
): Promise<T> {
  const temporary = toTemporaryName(name, deps);
  return deps.locks.withLocks([toLockKey(temporary)], () => work(temporary));
}

/** Wraps a storage: its listings finish the renames that an earlier run of this daemon has left half done. */
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

/** The temporary name of an item; its stem is shortened to the longest name allowed. */
export function toTemporaryName(name: string, { home, newId }: Omit<Deps, "locks">): string {
  const suffix = `.croft-${home}-${newId().replaceAll("-", "").slice(-12)}`;
  let stem = "";
  for (const letter of name) {
    if (Buffer.byteLength(stem + letter + suffix) > NAME_BYTES_MAX) break;
    stem += letter;
  }
  return stem + suffix;
}

/** The name that a temporary one stands for; undefined for all others, and where it may have been shortened. */
function targetOf(name: string, home: string): string | undefined {
  const at = name.lastIndexOf(`.croft-${home}-`);
  if (at <= 0 || Buffer.byteLength(name) > NAME_BYTES_MAX - 4) return undefined;
  return /^-[0-9a-f]{12}$/.test(name.slice(name.lastIndexOf("-"))) ? name.slice(0, at) : undefined;
}

function toLockKey(temporary: string): string {
  return `temporary ${temporary}`;
}
