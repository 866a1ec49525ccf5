import { createHash } from "node:crypto";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pack as createPack, type Pack } from "tar-stream";
import type { Database } from "../../../../storage/engine/database.ts";
import { discard } from "../../../../storage/owner.ts";
import { spool } from "../../../../storage/spool.ts";
import { findLiveItem } from "../../../../storage/tables/vault/items.ts";
import { BATCH_BYTES_MAX } from "../../../contract/vault/cloud/items.ts";
import type { Log } from "../../../utilities/logging.ts";
import type { VaultCaller } from "../../caller.ts";
import type { CloudBytes, DownloadFailure, ItemBytes } from "../bytes/bytes.service.ts";
import type { Adapters } from "../connections/adapters.ts";
import { FILES_AT_ONCE, SMALL_BYTES, toRefused, type BeginBatch } from "./batch-limits.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";

/** The last entry of an archive: one line of JSON for each item, in the order of the request. */
const OUTCOMES_ENTRY = "croft-outcomes.ndjson";

/** An archive that is about to be read. */
export interface DownloadBatch {
  /** Fails when the bytes of an entry end early, so that the response is aborted. */
  readonly archive: Readable;
  /** Call it once, after the archive was read or abandoned. */
  release(): void;
}

/** Downloads of many files in one request. */
export type BatchDownloads = ReturnType<typeof createBatchDownloads>;

export interface BatchDownloadsDeps {
  readonly db: Database;
  /** Creates names of temporary files. */
  readonly newId: () => string;
  readonly log: Log;
  /** Folder in which files of unknown length are spooled. */
  readonly temporaryDirectory: string;
  readonly beginBatch: BeginBatch;
}

/** The content of one entry: small ones are in memory. */
type Content = {
  readonly name: string;
  readonly modifiedAt: number | undefined;
  readonly contentType: string | undefined;
  /** The entity tag of a single download. */
  readonly etag: string | undefined;
  readonly size: number;
  readonly bytes: Buffer | Readable;
  release(): void;
};

type Line = Readonly<Record<string, unknown>>;

/** Never rejects. */
type Opening = Promise<Content | { readonly failure: Line }>;

/**
 * Creates the service. The archive has the files in the order of the request. Small files are read ahead, several at a time,
 * which hides the latency of a provider. An entry's extended header has the item's id as `CROFT.item_id`, the entity tag as
 * `CROFT.etag` and, of a file that was read ahead, the SHA-256 as `CROFT.sha256`.
 */
export function createBatchDownloads(
  deps: BatchDownloadsDeps,
  adapters: Pick<Adapters, "own" | "open">,
  bytes: Pick<CloudBytes, "download">,
) {
  const { db, log } = deps;

  return {
    /** Refuses a missing connection, one that cannot be opened, and more batches of an account than may run at one time. */
    async begin(
      caller: VaultCaller,
      connectionId: ConnectionId,
      itemIds: readonly string[],
    ): Promise<DownloadBatch> {
      await adapters.open(await adapters.own(caller.userId, connectionId));
      const uncount = deps.beginBatch(caller.userId);
      const abort = new AbortController();
      const archive = Readable.from(write(caller, connectionId, itemIds, abort.signal), {
        objectMode: false,
      });
      // The response reports the error; without a reader it must not end the process.
      archive.on("error", () => undefined);
      return {
        archive,
        release() {
          abort.abort();
          uncount();
          archive.destroy();
        },
      };
    },
  };

  async function* write(
    caller: VaultCaller,
    connectionId: ConnectionId,
    itemIds: readonly string[],
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const pack = createPack();
    const writing = writeEntries(pack, caller, connectionId, itemIds, signal).catch(
      (error: unknown) => {
        const refused = toRefused(error);
        if (refused.code === "internal" && !signal.aborted)
          log.warn({ err: error, connection_id: connectionId }, "a batch download was cut off");
        pack.destroy(error as Error);
      },
    );
    try {
      for await (const chunk of pack) yield chunk as Uint8Array;
    } finally {
      pack.destroy();
      await writing;
    }
  }

  async function writeEntries(
    pack: Pack,
    caller: VaultCaller,
    connectionId: ConnectionId,
    itemIds: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const names = createEntryNames();
    const lines: Line[] = [];
    let total = 0;
    for await (const { itemId, content } of readAhead(caller, connectionId, itemIds, signal)) {
      if ("failure" in content) {
        lines.push({ provider_item_id: itemId, ...content.failure });
        continue;
      }
      try {
        total += content.size;
        if (total > BATCH_BYTES_MAX) {
          total -= content.size;
          lines.push({ provider_item_id: itemId, ...tooMuch });
          continue;
        }
        const entry = names(content.name);
        await writeEntry(pack, itemId, entry, content);
        const { size } = content;
        lines.push({ provider_item_id: itemId, status: 200, entry, size });
      } finally {
        content.release();
      }
    }
    const text = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    pack.entry({ name: OUTCOMES_ENTRY, size: text.byteLength, mode: 0o600 }, text);
    pack.finalize();
  }

  /** Yields the contents in order. While one is sent, the small ones behind it are read. */
  async function* readAhead(
    caller: VaultCaller,
    connectionId: ConnectionId,
    itemIds: readonly string[],
    signal: AbortSignal,
  ): AsyncGenerator<{
    readonly itemId: string;
    readonly content: Content | { readonly failure: Line };
  }> {
    const ahead: { readonly itemId: string; readonly opening: Opening | undefined }[] = [];
    let next = 0;
    const lookAhead = async (itemId: string) => {
      const item = await findLiveItem(db, connectionId, itemId);
      const isSmall = item?.size !== undefined && item.size <= SMALL_BYTES;
      ahead.push({ itemId, opening: isSmall ? open(itemId) : undefined });
    };
    const open = (itemId: string): Opening =>
      openContent(caller, { connection_id: connectionId, item_id: itemId });
    try {
      for (;;) {
        for (; ahead.length < FILES_AT_ONCE && next < itemIds.length; next++)
          await lookAhead(itemIds[next] ?? "");
        if (signal.aborted) return;
        const first = ahead.shift();
        if (first === undefined) return;
        const { itemId, opening } = first;
        yield { itemId, content: await (opening ?? open(itemId)) };
      }
    } finally {
      for (const { opening } of ahead)
        opening
          ?.then((content) => "release" in content && content.release())
          .catch((error: unknown) => log.error({ err: error }, "failed to close an item"));
    }
  }

  async function openContent(
    caller: VaultCaller,
    place: { readonly connection_id: ConnectionId; readonly item_id: string },
  ): Opening {
    try {
      const result = await bytes.download(caller, place);
      return result.kind === "bytes" ? await toContent(result) : { failure: toFailureLine(result) };
    } catch (error) {
      const refused = toRefused(error);
      if (refused.code === "internal")
        log.error({ err: error, connection_id: place.connection_id }, "failed to read an item");
      const status = refused.code === "internal" ? 500 : 503;
      return { failure: { status, detail: refused.detail } };
    }
  }

  /** Reads a small file whole and frees it; a larger one stays open until `release`. */
  async function toContent(item: ItemBytes): Promise<Content> {
    const { name, contentType, modifiedAt, entityTag: etag } = item;
    const metadata = { name, contentType, modifiedAt, etag };
    let isHeld = false;
    try {
      const { buffer, size } = item.bytes;
      if (buffer !== undefined || (size !== undefined && size <= SMALL_BYTES)) {
        const chunks = buffer === undefined ? await item.bytes.open() : [buffer];
        const whole = Buffer.concat(await Array.fromAsync(chunks as AsyncIterable<Uint8Array>));
        return { ...metadata, size: whole.byteLength, bytes: whole, release: () => undefined };
      }
      const stream = await item.bytes.open();
      if (size !== undefined) {
        isHeld = true;
        const release = () => {
          discard(stream);
          item.bytes.release();
        };
        return { ...metadata, size, bytes: stream, release };
      }
      const path = join(deps.temporaryDirectory, `batch-${deps.newId()}`);
      const spooled = await spool(stream, path);
      const release = () => discard(spooled.stream);
      return { ...metadata, size: spooled.size, bytes: spooled.stream, release };
    } finally {
      if (!isHeld) item.bytes.release();
    }
  }
}

const tooMuch: Line = {
  status: 413,
  detail: `The archive would be larger than ${BATCH_BYTES_MAX} bytes.`,
};

const unavailable: Line = {
  status: 503,
  detail: "The provider is temporarily unavailable. Try again later.",
};

/** The status and body of a single download that failed. */
function toFailureLine(failure: DownloadFailure): Line {
  switch (failure.kind) {
    case "reauth":
      return {
        status: 401,
        detail: "The provider needs you to sign in again. Reconnect this connection.",
      };
    case "unsupported":
      return { status: 422, detail: "This item has no bytes to download." };
    case "not_found":
      return {
        status: 503,
        detail: "The provider has no file with this id.",
        reason: "not_found",
      };
    case "rate_limited":
      return { ...unavailable, retry_after_s: Math.ceil(failure.retryAfterSeconds ?? 30) };
    default:
      return unavailable;
  }
}

async function writeEntry(
  pack: Pack,
  itemId: string,
  name: string,
  { bytes, size, modifiedAt, etag }: Content,
): Promise<void> {
  const pax: Record<string, string> = { "CROFT.item_id": itemId };
  if (etag !== undefined) pax["CROFT.etag"] = etag;
  if (Buffer.isBuffer(bytes))
    pax["CROFT.sha256"] = createHash("sha256").update(bytes).digest("hex");
  const mtime = new Date(modifiedAt ?? 0);
  await new Promise<void>((resolve, reject) => {
    const entry = pack.entry({ name, size, mode: 0o600, mtime, pax }, (error) =>
      error ? reject(error) : resolve(),
    );
    if (Buffer.isBuffer(bytes)) return void entry.end(bytes);
    bytes.once("error", (error) => entry.destroy(error));
    // A stream that closes early would leave the entry open for ever.
    bytes.once("close", () => {
      if (!bytes.readableEnded) entry.destroy(new Error("the bytes of an item ended early"));
    });
    bytes.pipe(entry as unknown as NodeJS.WritableStream);
  });
}

/** Returns unique names that stay inside the folder where the archive is extracted. */
function createEntryNames(): (name: string) => string {
  const usedNames = new Set([OUTCOMES_ENTRY]);
  return (name) => {
    const plain = name.toWellFormed().replaceAll(/[/\\\p{Cc}]/gu, "_");
    const safe = plain === "" || plain === "." || plain === ".." ? "_" : plain;
    let free = safe;
    for (let count = 1; usedNames.has(free); count++) free = `${count}-${safe}`;
    usedNames.add(free);
    return free;
  };
}
