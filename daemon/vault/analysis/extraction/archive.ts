import { buffer } from "node:stream/consumers";
import { decodeText, findDeclaredEncoding } from "../../../utilities/text-encoding.ts";
import { openPromise, type Entry, type ZipFile } from "yauzl";
import { Unreadable } from "./outcome.ts";

/** A ZIP container that is read entry by entry under limits on number, size and ratio of its entries. */
export interface Archive {
  readonly names: readonly string[];
  /** Names are compared without case where no entry has exactly this name (ECMA-376 part 2, part names). */
  has(name: string): boolean;
  /**
   * Returns an entry as text, in the encoding that it shows or declares; undefined when it is missing. Throws `Unreadable`
   * when a limit is exceeded.
   */
  read(name: string): Promise<string | undefined>;
  close(): void;
}

const ENTRIES_MAX = 10_000;
/** Maximum total of unpacked bytes of one archive. */
const UNPACKED_BYTES_MAX = 128 * 1024 * 1024;
/** A real document compresses to a twentieth at most; a bomb to a thousandth. */
const RATIO_MAX = 200;
/** Smaller entries may have any ratio. */
const RATIO_FROM_BYTES = 4 * 1024 * 1024;
const FLAG_ENCRYPTED = 1;

/** Opens a ZIP file. Throws `Unreadable`: `damaged`, `encrypted`, or `too_complex` for one that exceeds the limits. */
async function openArchive(path: string): Promise<Archive> {
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false }).catch(
    (error: unknown) => {
      throw new Unreadable("damaged", error);
    },
  );
  try {
    const entries = await readEntries(zip);
    const byCase = new Map([...entries].map(([name, entry]) => [name.toLowerCase(), entry]));
    const find = (name: string) => entries.get(name) ?? byCase.get(name.toLowerCase());
    let unpacked = 0;
    return {
      names: [...entries.keys()],
      has: (name) => find(name) !== undefined,
      async read(name) {
        const entry = find(name);
        if (entry === undefined) return undefined;
        if ((entry.generalPurposeBitFlag & FLAG_ENCRYPTED) !== 0) throw new Unreadable("encrypted");
        unpacked += assertSize(entry);
        if (unpacked > UNPACKED_BYTES_MAX) throw new Unreadable("too_complex");
        // The library ends the stream with an error when the entry has more bytes than its header says.
        return openStream(zip, entry).catch((error: unknown) => {
          throw error instanceof Unreadable ? error : new Unreadable("damaged", error);
        });
      },
      close: () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error instanceof Unreadable ? error : new Unreadable("damaged", error);
  }
}

/** Opens a ZIP file for the time of `work`. */
export async function withArchive(
  path: string,
  work: (archive: Archive) => Promise<void>,
): Promise<void> {
  const archive = await openArchive(path);
  try {
    await work(archive);
  } finally {
    archive.close();
  }
}

/** Returns the names that match, by the number in them. */
export function inOrder(names: readonly string[], pattern: RegExp): string[] {
  return names
    .flatMap((name) => {
      const number = pattern.exec(name)?.[1];
      return number === undefined ? [] : [{ name, number: Number(number) }];
    })
    .sort((a, b) => a.number - b.number)
    .map(({ name }) => name);
}

async function openStream(zip: ZipFile, entry: Entry): Promise<string> {
  const bytes = await buffer(
    await new Promise<NodeJS.ReadableStream>((resolve, reject) =>
      zip.openReadStream(entry, (error, stream) =>
        error === null ? resolve(stream) : reject(error),
      ),
    ),
  );
  return decodeText(bytes, findDeclaredEncoding(bytes));
}

function readEntries(zip: ZipFile): Promise<Map<string, Entry>> {
  return new Promise((resolve, reject) => {
    const entries = new Map<string, Entry>();
    zip.on("entry", (entry: Entry) => {
      if (entries.size >= ENTRIES_MAX) {
        reject(new Unreadable("too_complex"));
        return;
      }
      if (!entries.has(entry.fileName)) entries.set(entry.fileName, entry);
      zip.readEntry();
    });
    zip.once("end", () => resolve(entries));
    zip.once("error", reject);
    zip.readEntry();
  });
}

function assertSize({ compressedSize, uncompressedSize }: Entry): number {
  const isBomb =
    uncompressedSize > RATIO_FROM_BYTES && uncompressedSize > compressedSize * RATIO_MAX;
  if (isBomb || uncompressedSize > UNPACKED_BYTES_MAX) throw new Unreadable("too_complex");
  return uncompressedSize;
}
