import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { vault } from "../../../client/operations.ts";
import { CliError } from "../../../errors.ts";
import type { WireItem } from "../../../support/items.ts";
import { SMALL_DOWNLOAD_BYTES_MAX, createDownloadBatches } from "./download-batch.ts";
import type { SyncedFolder, SyncStep } from "./sync-plan.ts";
import type { Origin } from "./sync-sides.ts";
import type { Retries } from "./transfer.ts";

/** The files of another connection, with the hashes of those that were read. */
export interface RemoteOrigin extends Origin {
  readonly hashes: ReadonlyMap<string, string>;
}

/** Creates the origin for files of a connection. Small ones come in batches, larger ones are streamed through. */
export function createRemoteOrigin(retries: Retries, { connectionId }: SyncedFolder): RemoteOrigin {
  const { cli, repeat } = retries;
  const batches = createDownloadBatches(cli, connectionId, { isPaced: true });
  const hashes = new Map<string, string>();
  return {
    hashes,
    smallBytesMax: SMALL_DOWNLOAD_BYTES_MAX,
    async prepare(step) {
      const { provider_item_id: id } = itemOf(step);
      const bytes = await repeat(connectionId, () => batches.download(id));
      hashes.set(id, createHash("sha256").update(bytes).digest("hex"));
      return async () => bytes;
    },
    withContent: (step, send) =>
      // A stream cannot be sent twice, so a retry repeats the download as well.
      repeat(connectionId, async () => {
        const { provider_item_id: id, name } = itemOf(step);
        const params = { connection_id: connectionId, item_id: id };
        const { stream, size } = await cli.client.download(vault.downloadItem, { params });
        const hash = createHash("sha256");
        let bytes = 0;
        async function* hashed() {
          for await (const chunk of stream as AsyncIterable<Uint8Array>) {
            hash.update(chunk);
            bytes += chunk.byteLength;
            yield chunk;
          }
        }
        try {
          const open = () => Readable.from(hashed(), { objectMode: false });
          const copied = await send({ size, canRestart: false, open });
          if (copied.size !== bytes)
            throw new CliError(
              "provider_failed",
              `${name}: ${copied.size} of ${bytes} bytes arrived`,
              {
                service: "vault",
              },
            );
          hashes.set(id, hash.digest("hex"));
          return copied;
        } finally {
          stream.destroy();
        }
      }),
  };
}

/** Returns the item of a step whose source is a connection. */
export function itemOf({ path, source }: SyncStep): WireItem {
  if (source?.item === undefined) throw new CliError("not_found", `${path} does not exist`);
  return source.item;
}
