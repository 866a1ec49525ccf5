import type { ProviderDeps } from "../provider.ts";
import type { DavClient } from "../webdav/client.ts";
import { isRemainder, withTemporaryName } from "../webdav/temporary.ts";

/** The chunk folders of unfinished uploads, in the user's folder of uploads. */
export type UnfinishedUploads = ReturnType<typeof createUnfinishedUploads>;

const DISCARD_MS = 20_000;
/** The most folders that one sweep removes. */
const SWEEP_MAX = 20;

/**
 * @param client of the person's folder of uploads
 * @param destination a `Destination` header, which the server demands of every change of an upload
 */
export function createUnfinishedUploads(
  client: DavClient,
  destination: string,
  deps: Pick<ProviderDeps, "home" | "newId" | "locks">,
) {
  // The daemon may have been killed during an upload.
  let mayBeLeft = true;

  async function remove(folder: string, signal: AbortSignal): Promise<void> {
    const answer = await client.send({
      method: "DELETE",
      place: { segments: [folder], isFolder: true },
      headers: { destination },
      signal,
    });
    if (answer.kind === "answered") answer.discard();
    else mayBeLeft = true;
  }

  return {
    /** Runs `work` with a name for a chunk folder. No sweep removes the folder while `work` runs. */
    withFolder: <T>(work: (folder: string) => Promise<T>): Promise<T> =>
      withTemporaryName(deps, { dot_names: false }, work),
    /** Removes one chunk folder. If the server is unreachable, the next sweep removes it. */
    discard: (folder: string): Promise<void> => remove(folder, AbortSignal.timeout(DISCARD_MS)),

    /**
     * Removes chunk folders that an earlier run of this daemon left, or that `discard` failed to remove. Sends no
     * request when no such folder can exist. The server itself removes chunks only after a day, and they count against
     * the quota until then.
     */
    async sweep(signal: AbortSignal): Promise<void> {
      if (!mayBeLeft) return;
      mayBeLeft = false;
      const leftovers: string[] = [];
      const response = await client.propfind(
        { place: { segments: [], isFolder: true }, depth: "1", props: [], signal },
        (_response, path) => {
          const name = path?.at(-1) ?? "";
          if (isRemainder(name, deps)) leftovers.push(name);
        },
      );
      if (response.kind === "offline") mayBeLeft = true;
      for (const folder of leftovers.slice(0, SWEEP_MAX)) await remove(folder, signal);
      if (leftovers.length > SWEEP_MAX) mayBeLeft = true;
    },
  };
}
