import type { ProviderDeps } from "../provider.ts";
import type { Drive } from "./drive.ts";
import type { DriveFailure } from "./failures.ts";
import type { DriveFile } from "./items.ts";

/**
 * Drive lets any number of items have one name. Here everybody looks before and after taking one: whoever sees an older item of
 * the name afterwards gives it up again, and whoever is the oldest waits until the others have done so. When they do not,
 * they had it first after all.
 */
export interface Names {
  /** Whether nothing has the name, apart from the item itself. */
  isFree(
    folder: string,
    name: string,
    but: string | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "ok"; readonly isFree: boolean } | DriveFailure>;
  /**
   * Who keeps a name that `mine` has just taken. `unknown` when Drive cannot be asked any more, or does not list the item
   * in time: nobody else was seen.
   */
  settle(mine: DriveFile, signal: AbortSignal): Promise<"mine" | "theirs" | "unknown">;
}

/** Until a new item shows in listings. */
const LAG_MS = 1_000;
const LAG_LOOKS_MAX = 3;
/** Until a younger rival has given up. */
const RIVAL_MS = 500;
const RIVAL_LOOKS_MAX = 6;
/** As many items of one name tell enough. */
const NAMESAKES_MAX = 10_000;

export function createNames(drive: Drive, sleep: ProviderDeps["sleep"]): Names {
  async function waits(ms: number, signal: AbortSignal): Promise<boolean> {
    try {
      await sleep(ms, signal);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }

  return {
    async isFree(folder, name, but, signal) {
      const found = await drive.list(folder, name, signal, NAMESAKES_MAX);
      if (found.kind !== "ok") return found;
      return { kind: "ok", isFree: found.files.every(({ item }) => item.id === but) };
    },

    async settle(mine, signal) {
      const { id, name, parent } = mine.item;
      let lagging = 0;
      let contested = 0;
      for (;;) {
        const found = await drive.list(parent, name, signal, NAMESAKES_MAX);
        if (found.kind !== "ok") return "unknown";
        const rivals = found.files.filter(({ item }) => item.id !== id);
        if (rivals.some((rival) => isBefore(rival, mine))) return "theirs";
        if (rivals.length > 0) {
          if (++contested === RIVAL_LOOKS_MAX) return "theirs";
          if (!(await waits(RIVAL_MS, signal))) return "unknown";
          continue;
        }
        // As long as our own item does not show, nobody else's of the same moment may show either.
        if (found.files.length > 0) return "mine";
        if (++lagging === LAG_LOOKS_MAX) return "unknown";
        if (!(await waits(LAG_MS, signal))) return "unknown";
      }
    },
  };
}

function isBefore(one: DriveFile, other: DriveFile): boolean {
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt;
  return one.item.id < other.item.id;
}
