import { Readable } from "node:stream";
import type { Database, Queries } from "../../../storage/engine/database.ts";
import { createLocks, createSemaphores } from "../../../storage/locks.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import {
  findDocument,
  type VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import {
  findThumbnail,
  saveThumbnail,
  type Thumbnail,
} from "../../../storage/tables/vault/documents/thumbnails.ts";
import type { DocumentId } from "../../../storage/tables/vault/ids.ts";
import { findLiveItemByRow } from "../../../storage/tables/vault/items.ts";
import { AppError } from "../../errors.ts";
import type { UnreadableReason } from "../analysis/extraction/outcome.ts";
import type { VaultCaller } from "../caller.ts";
import { isDrawable } from "../cloud/bytes/previewable.ts";
import { createVersionNames } from "../cloud/bytes/version-key.ts";
import {
  type DocumentBytes,
  type Documents,
  isInternal,
  toObjectBytes,
} from "../documents/documents.service.ts";
import { writeObject } from "../documents/write-object.ts";
import { SOURCE_BYTES_MAX, type ThumbnailDrawer, tooManyWait } from "./thumbnail-drawer.ts";

export interface ThumbnailsDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly documents: Pick<Documents, "getReadable" | "open">;
  readonly drawer: Pick<ThumbnailDrawer, "draw">;
}

/** Files of one account that are read at a time, each of which takes disk space until it is drawn. */
const READ_AT_ONCE = 4;
/** Files of one account that wait: those of two pages of tiles. */
const WAITING_PER_ACCOUNT_MAX = 100;

/**
 * Small pictures of documents. They are drawn when they are first asked for, kept as objects for the content that they show,
 * and deleted with the document. A file that cannot be drawn is read once. The content of a file in connected storage is the
 * version that was listed or read last: other programs change it.
 */
export function createThumbnails({ db, store, documents, drawer }: ThumbnailsDeps) {
  const locks = createLocks();
  const toNames = createVersionNames();
  const withPlace = createSemaphores({
    permits: READ_AT_ONCE,
    waitingMax: WAITING_PER_ACCOUNT_MAX,
    toFullError: tooManyWait,
  });

  async function find(document: VaultDocument): Promise<Thumbnail | undefined> {
    const kept = await findThumbnail(db, document.id);
    if (kept?.contentSha256 !== (await findContentKey(db, document))) return undefined;
    if (kept.sha256 === undefined) return kept;
    return (await store.has(kept.sha256, kept.sizeBytes ?? 0)) ? kept : undefined;
  }

  /** Returns the hash of the content, or the name of the version of a file in connected storage. */
  async function findContentKey(from: Queries, document: VaultDocument): Promise<string> {
    const { userId, connectionId, itemId } = document;
    if (isInternal(document) || connectionId === undefined || itemId === undefined)
      return document.sha256;
    const item = await findLiveItemByRow(from, itemId);
    return item === undefined ? document.sha256 : toNames({ userId, connectionId }, item).entityTag;
  }

  async function make(document: VaultDocument): Promise<Thumbnail> {
    const key = await findContentKey(db, document);
    const drawn = await drawDocument(document);
    const object =
      drawn.kind === "drawn"
        ? await writeObject(store, Readable.from([Buffer.from(drawn.png)]), () => undefined)
        : undefined;
    return db.transaction(async (tx) => {
      const now = await findDocument(tx, document.id);
      if (now === undefined || (await findContentKey(tx, now)) !== key)
        throw new AppError("not_found", "The document has changed. Get its thumbnail again.");
      return saveThumbnail(tx, {
        documentId: document.id,
        contentSha256: key,
        sha256: object?.sha256,
        sizeBytes: object?.size,
        reason: drawn.kind === "drawn" ? undefined : drawn.reason,
      });
    });
  }

  async function drawDocument(document: VaultDocument): ReturnType<ThumbnailDrawer["draw"]> {
    const tooLarge = { kind: "undrawable", reason: "too_large" } as const;
    if (isInternal(document) && document.sizeBytes > SOURCE_BYTES_MAX) return tooLarge;
    const bytes = await documents.open(document);
    try {
      if ((bytes.size ?? 0) > SOURCE_BYTES_MAX) return tooLarge;
      return await drawer.draw(await bytes.open(), document.userId);
    } finally {
      bytes.release?.();
    }
  }

  return {
    /** Returns the PNG of a document that the caller may see. Refuses with `not_found` where there is none. */
    async get(caller: VaultCaller, id: DocumentId): Promise<DocumentBytes> {
      const document = await documents.getReadable(caller, id);
      if (!isDrawable(document.contentType)) throw noThumbnail("unsupported_format");
      const thumbnail =
        (await find(document)) ??
        (await locks.withLocks(
          [id],
          async () => (await find(document)) ?? withPlace(document.userId, () => make(document)),
        ));
      return toPicture(thumbnail);
    },
  };

  function toPicture({ sha256, sizeBytes = 0, createdAt, reason }: Thumbnail): DocumentBytes {
    if (sha256 === undefined)
      throw noThumbnail((reason ?? "unsupported_format") as UnreadableReason);
    return toObjectBytes(store, { sha256, sizeBytes }, createdAt);
  }
}

function noThumbnail(reason: UnreadableReason): AppError {
  return new AppError("not_found", `This document has no thumbnail: ${reasons[reason]}.`);
}

const OTHER_FORMAT = "only pictures and PDF files are drawn";

const reasons: Readonly<Record<UnreadableReason, string>> = {
  unsupported_format: OTHER_FORMAT,
  legacy_format: OTHER_FORMAT,
  encrypted: "it has a password",
  damaged: "the file is damaged",
  too_complex: "it takes too much memory",
  no_text: OTHER_FORMAT,
  ocr_off: OTHER_FORMAT,
  too_large: "it has too many pixels or bytes",
  timed_out: "it takes too long to draw",
  provider_error: "the connected storage failed",
};
