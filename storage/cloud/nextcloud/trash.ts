import type { DavClient } from "../webdav/client.ts";
import { cloudProps } from "../webdav/items.ts";

/**
 * A user's trash.
 * @param client of the folder that the trash lists
 */
export function createCloudTrash(client: DavClient) {
  async function find(fileId: string, signal: AbortSignal) {
    let place: readonly string[] | undefined;
    const base = client.base.segments.length;
    const listing = await client.propfind(
      { place: { segments: [], isFolder: true }, depth: "1", props: cloudProps, signal },
      (response, path) => {
        const isIt = response.props.get("{http://owncloud.org/ns}fileid") === fileId;
        if (isIt && path !== undefined && path.length > base) place = path.slice(-1);
      },
    );
    return listing.kind === "ok" ? place : undefined;
  }

  return {
    /** Returns the path of a deleted item by its file id; undefined when it is not found or the trash cannot be read. */
    find,
    /** Removes an item from the trash permanently. Returns false when that failed. */
    async purge(fileId: string, signal: AbortSignal): Promise<boolean> {
      const segments = await find(fileId, signal);
      if (segments === undefined) return false;
      const answer = await client.send({
        method: "DELETE",
        place: { segments, isFolder: false },
        signal,
      });
      if (answer.kind !== "answered") return false;
      answer.discard();
      return answer.status >= 200 && answer.status < 300;
    },
  };
}
