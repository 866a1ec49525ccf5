import type { Readable } from "node:stream";
import type { CloudItem } from "../../../storage/tables/vault/items.ts";
import type { VaultDocument } from "../../../storage/tables/vault/documents/documents.ts";
import type { VaultLink } from "../../../storage/tables/vault/links.ts";
import { AppError } from "../../errors.ts";
import { createZip, type ZipEntry } from "../../utilities/zip.ts";
import type { CloudBytes } from "../cloud/bytes/bytes.service.ts";
import type { CloudListings } from "../cloud/items/listings.service.ts";
import type { DocumentBytes, Documents } from "../documents/documents.service.ts";
import { type LinkTarget, toLinkName } from "./link-targets.ts";

/** The file that a link gives. */
export interface SentFile extends DocumentBytes {
  readonly filename: string;
  readonly contentType: string;
}

export type LinkContents = ReturnType<typeof createLinkContents>;

export interface LinkContentsDeps {
  readonly documents: Pick<Documents, "open">;
  readonly bytes: Pick<CloudBytes, "download">;
  readonly listings: Pick<CloudListings, "browse">;
}

/** Files of a folder that one archive takes; with more of them it breaks off. */
const FILES_MAX = 20_000;
/** Folders in folders that one archive takes; with more of them it breaks off. */
const DEPTH_MAX = 50;
const PAGE = 1_000;

/** Opens the bytes of targets, on behalf of the owners of the links. */
export function createLinkContents({ documents, bytes, listings }: LinkContentsDeps) {
  return {
    /** Refuses as the content of a document does. Several files are an archive, whose stream fails if one cannot be read. */
    async open(link: VaultLink, target: LinkTarget): Promise<SentFile> {
      switch (target.kind) {
        case "document": {
          const { filename, contentType } = target.document;
          return { filename, contentType, ...(await documents.open(target.document)) };
        }
        case "file":
          return openItem(link, target.item);
        case "documents":
          return toArchive(link, target, () => target.documents.map(toDocumentEntry));
        case "folder":
          return toArchive(link, target, () => listFolder(link, target.item));
      }
    },
  };

  function toDocumentEntry(document: VaultDocument): ZipEntry {
    return {
      name: document.filename,
      modifiedAt: document.contentAt,
      open: async () => toEntryBytes(await documents.open(document)),
    };
  }

  async function* listFolder(link: VaultLink, folder: CloudItem): AsyncGenerator<ZipEntry> {
    const waiting = [{ ref: folder.providerItemId, names: [] as readonly string[] }];
    let files = 0;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { ref, names } = next;
      for await (const item of listItems(link, folder, ref)) {
        files += 1;
        if (files > FILES_MAX) throw new AppError("unavailable", "The folder has too many files.");
        if (item.kind === "file")
          yield {
            name: item.name,
            folders: names,
            modifiedAt: item.modifiedAt ?? 0,
            open: async () => toEntryBytes(await openItem(link, item)),
          };
        else {
          if (names.length >= DEPTH_MAX)
            throw new AppError("unavailable", "The folder has too many folders in folders.");
          waiting.push({ ref: item.providerItemId, names: [...names, item.name] });
        }
      }
    }
  }

  async function* listItems(
    link: VaultLink,
    { connectionId }: CloudItem,
    parentRef: string,
  ): AsyncGenerator<CloudItem> {
    const owner = { userId: link.ownerId };
    let after: Parameters<CloudListings["browse"]>[2]["after"];
    do {
      const request = { parentRef, after, limit: PAGE, refresh: false, name: undefined };
      const { state, items, next } = await listings.browse(owner, connectionId, request);
      // An archive without the files of a folder that could not be listed would look complete.
      if (state.refreshState === "failed" || state.listedAt === undefined)
        throw new AppError("unavailable", "The folder cannot be listed at the moment.");
      yield* items;
      after = next;
    } while (after !== undefined);
  }

  async function openItem(link: VaultLink, item: CloudItem): Promise<SentFile> {
    const place = { connection_id: item.connectionId, item_id: item.providerItemId };
    const found = await bytes.download({ userId: link.ownerId }, place);
    if (found.kind !== "bytes")
      throw new AppError("unavailable", "The file cannot be read at the moment. Try again later.");
    const { modifiedAt, contentType = "application/octet-stream" } = found;
    const { size, buffer } = found.bytes;
    const send = found.bytes.send?.bind(found.bytes);
    return {
      filename: item.name,
      contentType,
      size,
      buffer,
      ...(send === undefined ? {} : { send }),
      etag: found.entityTag,
      lastModified: modifiedAt === undefined ? undefined : new Date(modifiedAt),
      open: (range) => found.bytes.open(range),
      release: () => found.bytes.release(),
    };
  }
}

function toArchive(
  link: VaultLink,
  target: LinkTarget,
  list: () => Iterable<ZipEntry> | AsyncIterable<ZipEntry>,
): SentFile {
  return {
    filename: `${toLinkName(link, target)}.zip`,
    contentType: "application/zip",
    size: undefined,
    etag: undefined,
    lastModified: undefined,
    open: async () => createZip(list()),
  };
}

async function toEntryBytes(
  source: DocumentBytes,
): Promise<{ readonly stream: Readable; readonly size: number | undefined }> {
  try {
    const stream = await source.open();
    stream.once("close", () => source.release?.());
    return { stream, size: source.size };
  } catch (error) {
    source.release?.();
    throw error;
  }
}
