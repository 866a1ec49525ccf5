import type { ProviderDeps } from "../provider.ts";
import type { Drive } from "./drive.ts";
import type { DriveFailure } from "./failures.ts";
import type { DriveFile } from "./items.ts";

export type Names = ReturnType<typeof createNames>;

/** Delay until a new item appears in listings. */
const LAG_MS = 1_000;
const LAG_LOOKS_MAX = 3;
/** Delay until a younger rival is removed. */
const RIVAL_MS = 500;
const RIVAL_LOOKS_MAX = 6;
/** Enough items of one name to decide. */
const NAMESAKES_MAX = 10_000;

/**
 * Drive permits any number of items with one name. Every client therefore checks before and after taking a name: a client
 * that finds an older item of the name removes its own, and the client with the oldest waits until the others have removed
 * theirs. If they do not, they had the name first.
 */
export function createNames(drive: Drive, sleep: ProviderDeps["sleep"]) {
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
    /** Returns whether no item has the name, except the item itself. */
    async isFree(
      folder: string,
      name: string,
      but: string | undefined,
      signal: AbortSignal,
    ): Promise<{ readonly kind: "ok"; readonly isFree: boolean } | DriveFailure> {
      const found = await drive.list(folder, name, signal, NAMESAKES_MAX);
      if (found.kind !== "ok") return found;
      return { kind: "ok", isFree: found.files.every(({ item }) => item.id === but) };
    },

    /**
     * Determines which item keeps a name that `own` has just taken. `unknown` when Drive is unreachable, or does not list the
     * item in time: no other item was found.
     */
    async resolveConflict(
      own: DriveFile,
      signal: AbortSignal,
    ): Promise<"mine" | "theirs" | "unknown"> {
      const { id, name, parent } = own.item;
      let lagging = 0;
      let contested = 0;
      for (;;) {
        const found = await drive.list(parent, name, signal, NAMESAKES_MAX);
        if (found.kind !== "ok") return "unknown";
        const rivals = found.files.filter(({ item }) => item.id !== id);
        if (rivals.some((rival) => isBefore(rival, own))) return "theirs";
        if (rivals.length > 0) {
          if (++contested === RIVAL_LOOKS_MAX) return "theirs";
          if (!(await waits(RIVAL_MS, signal))) return "unknown";
          continue;
        }
        // While our own item is not listed, other new items may be missing as well.
        if (found.files.length > 0) return "mine";
        if (++lagging === LAG_LOOKS_MAX) return "unknown";
        if (!(await waits(LAG_MS, signal))) return "unknown";
      }
    },
  };
}

function isBefore(a: DriveFile, b: DriveFile): boolean {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt;
  return a.item.id < b.item.id;
}
