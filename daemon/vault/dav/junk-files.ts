import { Readable } from "node:stream";
import { readChunks } from "../../utilities/receive-body.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import { notFound } from "./refusals.ts";
import type { DavFile, DavUpload } from "./tree.ts";

/** Most bytes of one such file that are kept, and of all files of an account and of the server. */
const FILE_BYTES_MAX = 64 * 1024;
const ACCOUNT_BYTES_MAX = 1024 * 1024;
const BYTES_MAX = 16 * 1024 * 1024;

interface JunkFile {
  readonly content: Buffer;
  readonly modifiedAt: number;
}

export type JunkFiles = ReturnType<typeof createJunkFiles>;

/** Returns whether a name is that of a file in which Finder or Explorer notes how it shows a folder. */
export function isJunk(name: string): boolean {
  return name.startsWith("._") || JUNK.has(name.toLowerCase());
}

const JUNK: ReadonlySet<string> = new Set([".ds_store", "desktop.ini", "thumbs.db", "ehthumbs.db"]);

/**
 * The files that Finder and Explorer write beside each file, and fail without. They are held in memory, are in no listing,
 * and are forgotten when there are too many or the daemon ends.
 */
export function createJunkFiles(clock: () => number) {
  const accounts = new Map<AccountId, Map<string, JunkFile>>();
  const costOf = (files: ReadonlyMap<string, JunkFile>) =>
    [...files].reduce(
      (sum, [place, { content }]) => sum + place.length * 2 + content.byteLength,
      0,
    );

  function makeRoom(userId: AccountId, files: Map<string, JunkFile>): void {
    while (costOf(files) > ACCOUNT_BYTES_MAX) deleteOldest(files);
    // The account that has written least recently loses its files first.
    accounts.delete(userId);
    accounts.set(userId, files);
    const others = [...accounts.keys()].filter((id) => id !== userId);
    let sum = [...accounts.values()].reduce((total, each) => total + costOf(each), 0);
    for (const id of others) {
      if (sum <= BYTES_MAX) return;
      sum -= costOf(accounts.get(id) ?? new Map());
      accounts.delete(id);
    }
  }

  function toFile(userId: AccountId, place: string, file: JunkFile): DavFile {
    const name = place.slice(place.lastIndexOf("/") + 1);
    const { content, modifiedAt } = file;
    return {
      kind: "file",
      name,
      size: content.byteLength,
      contentType: undefined,
      etag: undefined,
      modifiedAt,
      holder: undefined,
      sharesName: true,
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
        if (accounts.get(userId)?.delete(place) !== true) throw notFound();
      },
    };
  }

  async function store(
    userId: AccountId,
    place: string,
    { content }: Pick<DavUpload, "content">,
  ): Promise<DavFile> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of readChunks(content)) {
      size += chunk.byteLength;
      if (size <= FILE_BYTES_MAX) chunks.push(chunk);
    }
    // What is too large is taken and not kept: its writer goes on with the file beside it.
    const kept = size <= FILE_BYTES_MAX ? Buffer.concat(chunks) : Buffer.alloc(0);
    const file = { content: kept, modifiedAt: clock() };
    const files = accounts.get(userId) ?? new Map<string, JunkFile>();
    files.delete(place);
    files.set(place, file);
    makeRoom(userId, files);
    return toFile(userId, place, file);
  }

  return {
    find(userId: AccountId, place: string): DavFile | undefined {
      const file = accounts.get(userId)?.get(place);
      return file && toFile(userId, place, file);
    },
    store,
  };
}

function deleteOldest(files: Map<string, JunkFile>): void {
  const [oldest] = files.keys();
  if (oldest !== undefined) files.delete(oldest);
}
