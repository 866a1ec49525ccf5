import { compactNpmDocument } from "./compact-document.ts";
import type { Readable } from "node:stream";
import type {
  ObjectDigests,
  ObjectStore,
  ObjectWriter,
} from "../../../../storage/objects/object-store.ts";
import { AppError, assertNever } from "../../../errors.ts";
import type { Compute } from "../../compute.ts";
import {
  readChunks,
  type Received,
  toReceived,
  uploadTooLarge,
} from "../../../utilities/receive-body.ts";
import { createDocumentScanner } from "./attachment-scanner.ts";

/** A received publish document. The caller must call `discard` in every case. */
export interface NpmUpload {
  /** The members of the parsed JSON that this server reads, without the content of an attachment. */
  readonly document: unknown;
  readonly attachment: { readonly name: string; readonly received: Received } | undefined;
  discard(): Promise<void>;
}

export interface NpmUploadDeps {
  readonly store: ObjectStore;
  readonly compute: Compute;
  /** The account that the document is parsed for. */
  readonly account: string;
}

/** Maximum size of a document without attachments: npm sends a package with all its versions to unpublish one. */
export const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Reads a document with at most one attachment, and writes its content to the object store as it arrives. Refuses an
 * aborted or invalid body with `invalid_argument`, a long one with `too_large`. A refusal leaves no object.
 */
export async function readNpmUpload(
  { store, compute, account }: NpmUploadDeps,
  body: Readable,
  limits: { readonly documentBytes: number; readonly attachmentBytes: number },
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
        if (writer.size + bytes.length > limits.attachmentBytes)
          throw uploadTooLarge(limits.attachmentBytes);
        await writer.write(bytes);
      },
      async end() {
        digests = await writer?.seal();
      },
    },
    limits.documentBytes,
  );
  try {
    for await (const chunk of readChunks(body)) await scanner.push(chunk);
    const document = await compact(compute, scanner.text(), account);
    return { document, attachment: toAttachment(name, writer, digests), discard };
  } catch (error) {
    await discard();
    throw error;
  }
}

async function compact(compute: Compute, text: string, account: string): Promise<unknown> {
  const computed = await compute.run(compactNpmDocument, text, account);
  if (computed.kind === "exceeded")
    throw new AppError("too_large", `The document takes ${computed.reason}.`);
  const document = computed.value;
  switch (document.kind) {
    case "document":
      return document.value;
    case "invalid":
      throw new AppError("invalid_argument", document.message);
    case "too_large":
      throw new AppError("too_large", document.message);
    default:
      return assertNever(document);
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
