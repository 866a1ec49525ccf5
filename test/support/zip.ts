import { crc32, deflateRawSync } from "node:zlib";

interface ZipEntry {
  readonly content: string;
  /** Lies about the unpacked size. */
  readonly size?: number;
  /** Type and permissions on Unix, such as 0o120777 for a symbolic link. */
  readonly mode?: number;
}

/** Makes a ZIP file of these entries. */
export function zip(entries: Readonly<Record<string, string | ZipEntry>>): Buffer<ArrayBuffer> {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, entry] of Object.entries(entries)) {
    const {
      content: text,
      size: stated,
      mode = 0,
    } = typeof entry === "string" ? { content: entry } : entry;
    const content = Buffer.from(text);
    const packed = deflateRawSync(content, { level: 9 });
    const size = stated ?? content.length;
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0);
    head.writeUInt16LE(8, 4);
    head.writeUInt32LE(crc32(content), 10);
    head.writeUInt32LE(packed.length, 14);
    head.writeUInt32LE(size, 18);
    head.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), head, Buffer.from(name), packed]);
    const central = Buffer.alloc(14);
    central.writeUInt32LE(mode * 0x1_0000, 6);
    central.writeUInt32LE(offset, 10);
    directory.push(
      Buffer.concat([
        Buffer.from("PK\u0001\u0002"),
        Buffer.from([20, 0]),
        head,
        central,
        Buffer.from(name),
      ]),
    );
    locals.push(local);
    offset += local.length;
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(directory.length, 4);
  end.writeUInt16LE(directory.length, 6);
  end.writeUInt32LE(listing.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, listing, Buffer.from("PK\u0005\u0006"), end]);
}

const CONTENT_TYPES = `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Override PartName="/word/document.xml"
    ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`;

/** Makes a Word document whose body is this XML. */
export function docx(
  documentXml: string | { readonly content: string; readonly size: number },
): Buffer<ArrayBuffer> {
  return zip({ "[Content_Types].xml": CONTENT_TYPES, "word/document.xml": documentXml });
}
