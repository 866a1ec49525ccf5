import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { type Entry, fromBufferPromise, type ZipFile } from "yauzl";

/**
 * The predefined CMaps (ISO 32000-1, 9.7.5.2), which map codes of Chinese, Japanese and Korean fonts to characters: files of
 * pdf.js 5.6 in its compact form, with Adobe's license.
 */
const ARCHIVE = new URL("./predefined-cmaps.zip", import.meta.url);

/** Gives pdf.js the predefined CMaps. It asks for them by the names that a PDF file has, and for nothing else. */
export class PredefinedCmaps {
  async fetch({ kind, filename }: { readonly kind: string; readonly filename: string }) {
    const found = kind === "cMapUrl" ? await readEntry(filename) : undefined;
    // The font is read without it.
    if (found === undefined) throw new Error("there is no such data of pdf.js");
    return new Uint8Array(found);
  }
}

async function readEntry(name: string): Promise<Buffer | undefined> {
  const zip = await fromBufferPromise(await readFile(ARCHIVE), { lazyEntries: true });
  const entry = await findEntry(zip, name);
  return entry && buffer(await openEntry(zip, entry));
}

function findEntry(zip: ZipFile, name: string): Promise<Entry | undefined> {
  return new Promise((resolve, reject) => {
    zip.on("entry", (entry: Entry) => {
      if (entry.fileName === name) resolve(entry);
      else zip.readEntry();
    });
    zip.once("end", () => resolve(undefined));
    zip.once("error", reject);
    zip.readEntry();
  });
}

function openEntry(zip: ZipFile, entry: Entry): Promise<NodeJS.ReadableStream> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) =>
      error === null ? resolve(stream) : reject(error),
    );
  });
}
