import { Buffer } from "node:buffer";
import { NAME_BYTES_MAX } from "./outcomes.ts";
import type { CloudProvider, ProviderDeps } from "./provider.ts";

type Deps = Pick<ProviderDeps, "home" | "newId" | "turns">;

/** So many items are brought on by one open storage: a server that shows more of them makes them up. */
const ENDED_MAX = 100;

/**
 * Gives `work` a free-standing name that tells where an item belongs: the stop between two renames where a storage takes no
 * change of case alone. As long as it runs no listing of this daemon takes the item for a remainder.
 */
export function atStopover<T>(
  name: string,
  deps: Deps,
  work: (stopover: string) => Promise<T>,
): Promise<T> {
  const stopover = toStopoverName(name, deps);
  return deps.turns.inTurn([toTurn(stopover)], () => work(stopover));
}

/** The same storage, whose listings bring on what an earlier run of this daemon has left between two spellings. */
export function withStopoversEnded(provider: CloudProvider, deps: Deps): CloudProvider {
  const tried = new Set<string>();
  return {
    ...provider,
    async list(input) {
      const outcome = await provider.list(input);
      if (outcome.kind !== "ok") return outcome;
      let isChanged = false;
      for (const { id, name, kind, etag, parent } of outcome.items) {
        const target = targetOf(name, deps.home);
        if (target === undefined || tried.has(name) || tried.size >= ENDED_MAX) continue;
        if (deps.turns.isTaken(toTurn(name))) continue;
        tried.add(name);
        const expected = { etag, kind, name, parent };
        const ended = await provider.rename({ id, name: target, expected, signal: input.signal });
        isChanged ||= ended.kind === "ok";
      }
      return isChanged ? provider.list(input) : outcome;
    },
  };
}

/** The stem is shortened to what a name may be long. */
export function toStopoverName(name: string, { home, newId }: Omit<Deps, "turns">): string {
  const suffix = `.croft-${home}-${newId().replaceAll("-", "").slice(-12)}`;
  let stem = "";
  for (const letter of name) {
    if (Buffer.byteLength(stem + letter + suffix) > NAME_BYTES_MAX) break;
    stem += letter;
  }
  return stem + suffix;
}

/** Where the item of a stopover belongs; undefined of all other names, and where the name may have been shortened. */
function targetOf(name: string, home: string): string | undefined {
  const at = name.lastIndexOf(`.croft-${home}-`);
  if (at <= 0 || Buffer.byteLength(name) > NAME_BYTES_MAX - 4) return undefined;
  return /^-[0-9a-f]{12}$/.test(name.slice(name.lastIndexOf("-"))) ? name.slice(0, at) : undefined;
}

function toTurn(stopover: string): string {
  return `stopover ${stopover}`;
}
