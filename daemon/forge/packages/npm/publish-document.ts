import type { Readable } from "node:stream";
import type {
  ObjectDigests,
  ObjectStore,
  ObjectWriter,
} from "../../../../storage/objects/object-store.ts";
import { AppError } from "../../../errors.ts";
import {
  readChunks,
  type Received,
  toReceived,
  uploadTooLarge,
} from "../../../utilities/receive-body.ts";
import { createDocumentScanner } from "./attachment-scanner.ts";

/** A received publish document. The caller must call `discard` in every case. */
export interface NpmUpload {
  /** The parsed JSON, with an empty string as the content of an attachment. */
  readonly document: unknown;
  readonly attachment: { readonly name: string; readonly received: Received } | undefined;
  discard(): Promise<void>;
}

/** Maximum size of a document without attachments: npm sends a package with all its versions to unpublish one. */
const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Reads a document with at most one attachment, and writes its content to the object store as it arrives. Refuses an
 * aborted or invalid body with `invalid_argument`, a long one with `too_large`. A refusal leaves no object.
 */
export async function readNpmUpload(
  store: ObjectStore,
  body: Readable,
  attachmentBytesMax: number,
): Promise<NpmUpload> {
  let name: string | undefined;
  let writer: ObjectWriter | undefined;
  let digests: ObjectDigests | undefined;
  const discard = async () => writer?.discard();
  const scanner = createDocumentScanner(
    {
      async begin(of) {
        if (writer !== undefined)
          throw new AppError("invalid_argument", "the document has more than one attachment");
        name = of;
        writer = await store.create();
      },
      async write(bytes) {
        if (writer === undefined) throw new Error("content before an attachment began");
        if (writer.size + bytes.length > attachmentBytesMax)
          throw uploadTooLarge(attachmentBytesMax);
        await writer.write(bytes);
      },
      async end() {
        digests = await writer?.seal();
      },
    },
    DOCUMENT_BYTES_MAX,
  );
  try {
    for await (const chunk of readChunks(body)) await scanner.push(chunk);
    const document = scanner.finish();
    return { document, attachment: toAttachment(name, writer, digests), discard };
  } catch (error) {
    await discard();
    throw error;
  }
}

function toAttachment(
  name: string | undefined,
  writer: ObjectWriter | undefined,
  digests: ObjectDigests | undefined,
): NpmUpload["attachment"] {
  if (name === undefined || writer === undefined || digests === undefined) return undefined;
  return { name, received: toReceived(writer, digests) };
}
