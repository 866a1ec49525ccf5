import type { IncomingHttpHeaders } from "node:http";
import type { ObjectIdentity } from "../../../storage/objects/object-store.ts";
import type { DocumentUpload } from "../../../storage/tables/vault/documents/uploads.ts";
import { AppError } from "../../errors.ts";

/**
 * Compares the headers of an upload with the size, type and hash declared when its address was created, before any byte
 * is read.
 */
export function assertPromised(upload: DocumentUpload, headers: IncomingHttpHeaders): void {
  const length = headers["content-length"];
  if (length !== undefined && Number(length) > upload.sizeBytes) throw biggerThanPromised(upload);
  if (length !== undefined && Number(length) < upload.sizeBytes)
    throw new AppError(
      "unprocessable",
      `The body has ${length} bytes; ${upload.sizeBytes} were promised.`,
    );
  const type = headers["content-type"];
  if (type !== undefined && type !== upload.contentType)
    throw new AppError(
      "unprocessable",
      `The content type must be ${upload.contentType}, as promised.`,
    );
}

/** Compares the received bytes with the declared size and hash, before they become an object. */
export function assertPromisedBytes(
  { sizeBytes, promisedSha256 }: DocumentUpload,
  received: ObjectIdentity,
): void {
  if (received.size !== sizeBytes)
    throw new AppError(
      "unprocessable",
      `The body has ${received.size} bytes; ${sizeBytes} were promised.`,
    );
  if (promisedSha256 !== undefined && promisedSha256 !== received.sha256)
    throw new AppError("unprocessable", "The body does not match the promised SHA-256.");
}

export function unknownAddress(): AppError {
  return new AppError(
    "not_found",
    "This upload address is unknown or has expired. Request another one.",
  );
}

export function biggerThanPromised({ sizeBytes }: DocumentUpload): AppError {
  return new AppError("too_large", `The body is larger than the promised ${sizeBytes} bytes.`);
}

export function inUse(): AppError {
  return new AppError("conflict", "This upload address was used already, or is in use.");
}
