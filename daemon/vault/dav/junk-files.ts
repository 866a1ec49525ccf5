import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { Database } from "../../../storage/engine/database.ts";
import {
  boundDavJunk,
  type DavJunk,
  deleteDavJunk,
  findDavJunk,
  putDavJunk,
} from "../../../storage/tables/vault/dav-junk.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import { readChunks, uploadTooLarge } from "../../utilities/receive-body.ts";
import { notFound } from "./refusals.ts";
import type { DavFile, DavUpload } from "./tree.ts";

/** Most bytes of one such file that are kept, and of all files of an account and of the server. */
const FILE_BYTES_MAX = 64 * 1024;
const ACCOUNT_BYTES_MAX = 1024 * 1024;
const BYTES_MAX = 16 * 1024 * 1024;
/** Most bytes of one that are read: a larger one is refused. */
const READ_BYTES_MAX = 16 * 1024 * 1024;

export type JunkFiles = ReturnType<typeof createJunkFiles>;

/** Returns whether a name is that of a file in which Finder or Explorer notes how it shows a folder. */
export function isJunk(name: string): boolean {
  return name.startsWith("._") || JUNK.has(name.toLowerCase());
}

const JUNK: ReadonlySet<string> = new Set([".ds_store", "desktop.ini", "thumbs.db", "ehthumbs.db"]);

/**
 * The files that Finder and Explorer write beside each file, and fail without. They are rows, which all daemons see; they are in
 * no storage and no listing, and the oldest are deleted when there are too many.
 */
export function createJunkFiles({
  db,
  clock,
}: {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}) {
  function toFile(place: string, file: DavJunk): DavFile {
    const { userId, placeHash, modifiedAt } = file;
    const content = Buffer.from(file.content);
    return {
      kind: "file",
      name: place.slice(place.lastIndexOf("/") + 1),
      size: content.byteLength,
      contentType: undefined,
      etag: undefined,
      modifiedAt,
      holder: undefined,
      sharesName: true,
      isJunk: true,
      open: async () => ({
        status: 200,
        bytes: {
          size: content.byteLength,
          contentType: "application/octet-stream",
          etag: undefined,
          lastModified: new Date(modifiedAt),
          buffer: content,
          open: async () => Readable.from([content]),
        },
      }),
      replace: (upload) => store(userId, place, upload),
      async remove() {
        if (!(await deleteDavJunk(db, userId, placeHash))) throw notFound();
      },
    };
  }

  async function store(
    userId: AccountId,
    place: string,
    { content, size: declared }: Pick<DavUpload, "content" | "size">,
  ): Promise<DavFile> {
    if (declared !== undefined && declared > READ_BYTES_MAX) throw uploadTooLarge(READ_BYTES_MAX);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of readChunks(content)) {
      size += chunk.byteLength;
      if (size > READ_BYTES_MAX) throw uploadTooLarge(READ_BYTES_MAX);
      if (size <= FILE_BYTES_MAX) chunks.push(chunk);
    }
    // A file that is too large is accepted and not kept: its writer goes on with the file beside it.
    const kept = size <= FILE_BYTES_MAX ? Buffer.concat(chunks) : Buffer.alloc(0);
    const file = { userId, placeHash: toHash(place), content: kept, modifiedAt: clock() };
    await db.transaction((tx) => putDavJunk(tx, file, ACCOUNT_BYTES_MAX));
    await boundDavJunk(db, BYTES_MAX);
    return toFile(place, file);
  }

  return {
    async find(userId: AccountId, place: string): Promise<DavFile | undefined> {
      const file = await findDavJunk(db, userId, toHash(place));
      return file && toFile(place, file);
    },
    store,
  };
}

const toHash = (place: string): string => createHash("sha256").update(place).digest("hex");
