import { join } from "node:path";
import { Transform, type Readable } from "node:stream";
import type { Failure } from "../../../../storage/cloud/outcomes.ts";
import type { ProviderDeps } from "../../../../storage/cloud/provider.ts";
import type { ProviderItem } from "../../../../storage/cloud/item.ts";
import { replaceFile } from "../../../../storage/cloud/replacing.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import { spool } from "../../../../storage/spool.ts";
import { findLiveItem } from "../../../../storage/tables/vault/items.ts";
import { toMediaType } from "../../../contract/media-type.ts";
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import type { Adapters } from "../connections/adapters.ts";
import { unlessDeleted } from "../connections/unless-deleted.ts";
import type { ItemPlace } from "../items/item-place.ts";
import { relocateItem, toItemOwner } from "../items/item-records.ts";
import { readIfMatch } from "./if-match.ts";
import type { ChangeRecorder, RecordingFailed } from "./change-recorder.ts";

export type ReplaceResult =
  | { readonly kind: "uploaded"; readonly item: ProviderItem; readonly size: number }
  /** The request has no `If-Match`. */
  | { readonly kind: "precondition_required" }
  | Failure
  | RecordingFailed;

/** New bytes for a file, from a request. */
export interface ReplaceInput {
  /** The header `If-Match`: an etag as listings have it, with or without quotes, or `*`. */
  readonly ifMatch: string | undefined;
  readonly content: Readable;
  /** From the header `Content-Length`. */
  readonly size: number | undefined;
  readonly contentType: string | undefined;
}

export type CloudReplacements = ReturnType<typeof createReplacements>;

export interface ReplacementsDeps {
  readonly db: Database;
  /** Creates ids of rows and names of temporary files. */
  readonly newId: () => string;
  readonly providerDeps: Pick<ProviderDeps, "home" | "newId" | "locks">;
  readonly temporaryDirectory: string;
  /** Largest upload. */
  readonly uploadBytesMax: number;
}

/** Replaces the bytes of files in connected storage. */
export function createReplacements(
  deps: ReplacementsDeps,
  adapters: Adapters,
  recorder: Pick<ChangeRecorder, "make">,
) {
  const { db, uploadBytesMax } = deps;
  const { locks } = deps.providerDeps;

  return {
    /**
     * Streams new bytes to a file that still has the etag of `ifMatch`; otherwise `stale`, and the file is as it was. The item
     * keeps its record, its analysis becomes stale with the new version.
     */
    async replace(
      caller: VaultCaller,
      place: ItemPlace,
      input: ReplaceInput,
    ): Promise<ReplaceResult> {
      try {
        const connection = await adapters.own(caller.userId, place.connection_id);
        if (input.ifMatch === undefined) return { kind: "precondition_required" };
        if ((input.size ?? 0) > uploadBytesMax) throw tooLarge(uploadBytesMax);
        const { capabilities } = await adapters.open(connection);
        const id = place.item_id;
        // Two replacements of one file run one after the other: not every provider compares in one step.
        return await locks.withLocks([JSON.stringify(["replace", connection.id, id])], () =>
          unlessDeleted(db, connection, async (): Promise<ReplaceResult> => {
            const recorded = await findLiveItem(db, connection.id, id);
            if (recorded?.kind === "folder") return { kind: "unsupported", reason: "folder" };
            const etag = readIfMatch(input.ifMatch, recorded?.etag);
            const { stream, bytes } = limit(input.content, uploadBytesMax);
            const spooled =
              capabilities.uploadNeedsSize && input.size === undefined
                ? await spool(stream, join(deps.temporaryDirectory, `replace-${deps.newId()}`))
                : undefined;
            try {
              const replaced = await recorder.make({
                caller,
                connection,
                eventType: "cloud.file_replaced",
                staleReason: "upload_mutated",
                parentRef: recorded?.parentRef,
                call: () =>
                  adapters.call(connection, (provider) =>
                    replaceFile(
                      provider,
                      {
                        id,
                        expected: { etag, kind: "file" },
                        content: spooled?.stream ?? stream,
                        size: spooled?.size ?? input.size,
                        contentType: toMediaType(recorded?.contentType) ?? input.contentType,
                        signal: new AbortController().signal,
                      },
                      deps.providerDeps,
                    ),
                  ),
                listFolders: ({ item }) => [item.parent],
                async write(tx, { item }) {
                  const size = item.size ?? bytes();
                  const contentType = item.contentType ?? recorded?.contentType;
                  const owner = toItemOwner(connection, deps.newId);
                  const row = await relocateItem(tx, owner, id, { ...item, size, contentType });
                  return {
                    value: size,
                    resourceId: row.id,
                    metadata: {
                      provider_item_id: row.providerItemId,
                      filename: item.name,
                      size_bytes: size,
                      previous_provider_item_id: id,
                    },
                  };
                },
              });
              if (replaced.kind !== "recorded") return replaced;
              const { done, value: size = bytes() } = replaced;
              return { kind: "uploaded", item: done.item, size };
            } finally {
              stream.destroy();
              spooled?.stream.destroy();
            }
          }),
        );
      } finally {
        // The rest of the body is discarded, so that the client gets to read its response.
        input.content.resume();
      }
    },
  };
}

/** Returns the etag that the provider compares; undefined for any. Clients may quote the one of a listing, as HTTP has it. */
/** Returns the same bytes; the stream fails with `too_large` beyond the limit, and when the request is aborted. */
function limit(content: Readable, bytesMax: number) {
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) done(tooLarge(bytesMax));
      else done(null, chunk);
    },
  });
  const abort = () => {
    if (content.readableEnded) return;
    const cause = content.errored;
    // A part of a batch may be refused while it is read.
    stream.destroy(
      cause instanceof AppError
        ? cause
        : new AppError("invalid_argument", "The upload broke off.", { cause }),
    );
  };
  content.once("error", abort);
  content.once("close", abort);
  stream.once("close", () => {
    content.unpipe(stream);
    content.resume();
  });
  // A provider that refuses early reads nothing: an error without a listener would end the process.
  stream.on("error", () => undefined);
  if (content.destroyed) abort();
  else content.pipe(stream);
  return { stream, bytes: () => bytes };
}

function tooLarge(bytesMax: number): AppError {
  return new AppError("too_large", `The file is larger than ${bytesMax} bytes.`);
}
