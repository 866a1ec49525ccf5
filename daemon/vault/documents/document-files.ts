import { createHash } from "node:crypto";
import { Transform, type Readable } from "node:stream";
import { PartFailed } from "../../../storage/cache/transfer.ts";
import type { Failure, ReadFailure } from "../../../storage/cloud/outcomes.ts";
import type { Transaction } from "../../../storage/engine/database.ts";
import type {
  NewDocument,
  VaultDocument,
} from "../../../storage/tables/vault/documents/documents.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";
import type { DownloadResult, ItemBytes } from "../cloud/bytes/bytes.service.ts";
import type { NewStoredFile, StoredFiles } from "../cloud/stored-files/stored-files.service.ts";
import { pipeBody } from "../../utilities/receive-body.ts";

/** The location of a new document, for its row. */
export type StoredLocation = Pick<
  NewDocument,
  "sizeBytes" | "sha256" | "storageBackend" | "connectionId" | "providerItemId" | "itemId"
>;

export type DocumentFiles = ReturnType<typeof createDocumentFiles>;

const BACKOFF_SECONDS = 30;

/** Documents in connected storage: writes and reads their files, with the refusals of the document routes. */
export function createDocumentFiles(
  files: Pick<StoredFiles, "getConnection" | "store" | "replace" | "open">,
  uploadBytesMax: number,
) {
  return {
    /**
     * Stores a file with the provider. `insert` adds the document in the transaction that records the file. It returns
     * undefined if another request has added the document, and then so does `store`. A refusal leaves no file.
     */
    async store(
      caller: VaultCaller,
      backend: string,
      file: NewStoredFile,
      insert: (tx: Transaction, stored: StoredLocation) => Promise<VaultDocument | undefined>,
    ): Promise<VaultDocument | undefined> {
      let document: VaultDocument | undefined;
      let wasRefused = false;
      const connection = await files.getConnection(caller.userId, backend);
      const { stream, sha256 } = toHashed(file.content, uploadBytesMax);
      const result = await files.store(
        caller,
        connection,
        { ...file, content: stream },
        async (tx, item, size) => {
          document = await insert(tx, {
            sizeBytes: size,
            sha256: sha256(),
            storageBackend: backend,
            connectionId: connection.id,
            providerItemId: item.providerItemId,
            itemId: item.id,
          });
          wasRefused = document === undefined;
          return document !== undefined;
        },
      );
      if (result.kind === "stored") return document;
      if (wasRefused) return undefined;
      throw toStoreRefusal(result);
    },

    /** Replaces the bytes of a file in its place; returns their size and hash. A refusal keeps the file as it is. */
    async replace(
      caller: VaultCaller,
      document: VaultDocument,
      {
        contentType,
        content,
        size,
      }: Pick<NewStoredFile, "content" | "size"> & {
        readonly contentType: string | undefined;
      },
    ): Promise<{ readonly sizeBytes: number; readonly sha256: string }> {
      const { stream, sha256 } = toHashed(content, uploadBytesMax);
      const result = await files.replace(caller, document, { contentType, content: stream, size });
      if (result.kind === "uploaded") return { sizeBytes: result.size, sha256: sha256() };
      if (result.kind === "no_connection") throw connectionRemoved();
      if (result.kind === "stale")
        throw new AppError(
          "precondition_failed",
          "The file of the document was changed in the connected storage. Get it again and compare before you replace it.",
        );
      throw toStoreRefusal(result);
    },

    /** Opens the bytes. Refuses with `unavailable` (503) where the owner must reconnect, else with `provider_failed` (502). */
    async open(document: VaultDocument): Promise<ItemBytes> {
      let result;
      try {
        result = await files.open(document);
      } catch (error) {
        if (error instanceof AppError) throw toOpenRefusal(error);
        throw error;
      }
      if (result.kind === "no_connection") throw connectionRemoved();
      if (result.kind !== "bytes") throw toReadRefusal(result);
      return withReadRefusals(result);
    },
  };
}

/**
 * Returns a transform that hashes its bytes and fails with `too_large` above the largest upload. Call `sha256` after
 * the end.
 */
function toHashed(
  content: Readable,
  bytesMax: number,
): { readonly stream: Readable; readonly sha256: () => string } {
  const hash = createHash("sha256");
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax)
        return done(new AppError("too_large", `The upload is larger than ${bytesMax} bytes.`));
      hash.update(chunk);
      done(null, chunk);
    },
  });
  pipeBody(content, stream);
  let digest: string | undefined;
  // A transaction may run again, and a hash ends once.
  return { stream, sha256: () => (digest ??= hash.digest("hex")) };
}

function connectionRemoved(): AppError {
  return new AppError(
    "provider_failed",
    "The connection that holds this document was removed. The file is still at the provider.",
  );
}

function toStoreRefusal(failure: Failure | { readonly kind: "recording_failed" }): AppError {
  switch (failure.kind) {
    case "reauth":
      return new AppError("unavailable", RECONNECT);
    case "quota_exceeded":
      return new AppError("provider_failed", "The connected storage is full.");
    case "forbidden":
      return new AppError("provider_failed", "The connected storage does not allow uploads.");
    case "invalid_name":
      return new AppError(
        "unprocessable",
        `The connected storage does not accept this filename (${failure.rule}).`,
      );
    case "rate_limited":
      return new AppError("unavailable", AWAY, toBackoff(failure.retryAfterSeconds));
    case "offline":
    case "locked":
      return new AppError("unavailable", AWAY);
    case "stale":
    case "conflict":
    case "invalid_destination":
    case "unsupported":
    case "unknown_outcome":
    case "recording_failed":
      return new AppError(
        "provider_failed",
        "The connected storage did not keep the file. Try again.",
      );
  }
}

function toReadRefusal(failure: Exclude<DownloadResult, ItemBytes>): AppError {
  switch (failure.kind) {
    case "reauth":
      return new AppError("unavailable", RECONNECT);
    case "not_found":
      return new AppError(
        "provider_failed",
        "The connected storage no longer has the file of this document.",
      );
    case "rate_limited":
      return new AppError("provider_failed", AWAY, toBackoff(failure.retryAfterSeconds));
    default:
      return new AppError("provider_failed", AWAY);
  }
}

/** A connection that cannot be opened at all. */
function toOpenRefusal(error: AppError): AppError {
  return error.code === "reauth_required"
    ? new AppError("unavailable", RECONNECT, { cause: error })
    : new AppError("provider_failed", AWAY, { cause: error });
}

/** A range that is not cached yet is requested from the provider when it is opened, which may fail like the first call. */
function withReadRefusals(item: ItemBytes): ItemBytes {
  const { bytes } = item;
  return {
    ...item,
    bytes: {
      size: bytes.size,
      buffer: bytes.buffer,
      ...(bytes.send === undefined ? {} : { send: bytes.send.bind(bytes) }),
      release: () => bytes.release(),
      async open(span) {
        try {
          return await bytes.open(span);
        } catch (error) {
          if (error instanceof PartFailed) throw toReadRefusal(error.failure as ReadFailure);
          throw error;
        }
      },
    },
  };
}

function toBackoff(seconds: number | undefined): { readonly retryAfterSeconds: number } {
  return { retryAfterSeconds: Math.ceil(seconds ?? BACKOFF_SECONDS) };
}

const RECONNECT = "The connected storage needs its owner to sign in again: reconnect it.";
const AWAY = "The connected storage is temporarily unavailable. Try again later.";
