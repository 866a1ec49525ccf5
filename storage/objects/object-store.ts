// Package files by SHA-256. Start here: the contract of the store; file-objects.ts and bucket-objects.ts implement it.
import type { Readable, Writable } from "node:stream";

/** Size and name of an object. */
export interface ObjectIdentity {
  readonly size: number;
  /** In lower-case hex. */
  readonly sha256: string;
}

/** Size and digests of an object; digests are lower-case hex. */
export interface ObjectDigests extends ObjectIdentity {
  readonly sha512: string;
  readonly sha1: string;
  readonly md5: string;
}

/** An object that is being written. Every writer must end with `publish` or `discard`. */
export interface ObjectWriter<Digests extends ObjectIdentity = ObjectDigests> {
  /** Bytes written so far. */
  readonly size: number;
  /**
   * Appends bytes, which the caller must not change afterwards: they may be written later. Throws `StorageError` `full` when
   * the disk was full, here or in `seal`.
   */
  write(chunk: Uint8Array): Promise<void>;
  /** Ends the input, syncs it to disk and returns its digests. */
  seal(): Promise<Digests>;
  /** Publishes the sealed bytes durably. If it throws, the object may exist or not. `sweep` spares it while it is young. */
  publish(): Promise<void>;
  /** Deletes the bytes unless they were published. Idempotent. */
  discard(): Promise<void>;
}

/** The bytes of an object. */
export interface ObjectStream extends Readable {
  /**
   * Writes the bytes to another stream in reused buffers, without ending it. Files have it: call it in place of reading,
   * which allocates each chunk. The stream then ends as if it had been read. Rejects when the other stream closes early or
   * the bytes cannot be read, and closes the stream.
   */
  sendTo?(to: Writable): Promise<void>;
}

/**
 * A content-addressed store: objects are named by their SHA-256, and equal bytes are deduplicated in the long run.
 * Users never delete an object. A sweep removes old, unreferenced objects, so a crash at any point leaves a
 * consistent store. `file-objects.ts` stores files, `bucket-objects.ts` uses a bucket. Every function throws
 * `StorageError` `busy` when the storage cannot be reached.
 */
export interface ObjectStore {
  create(): Promise<ObjectWriter>;
  /** As `create`, without the digests that only packages have: they take six times as long as SHA-256 alone. */
  createPlain(): Promise<ObjectWriter<ObjectIdentity>>;
  /**
   * Opens an object, or the part from `start` to `end`, both included. Returns undefined when the object is missing, has
   * another size than `size`, or does not match its SHA-256. The stream of a large object that does not match ends with
   * `DamagedObject` before its last chunk; a stream whose connection closes early ends with an error as well.
   */
  open(
    sha256: string,
    size: number,
    range?: { readonly start: number; readonly end: number },
  ): Promise<ObjectStream | undefined>;
  /** Returns whether an object of this size exists. Its bytes are not read. */
  has(sha256: string, size: number): Promise<boolean>;
  /** Removes the unreferenced objects that were written before a moment (epoch milliseconds). */
  sweep(options: {
    readonly before: number;
    readonly isInUse: (sha256: string) => Promise<boolean>;
    readonly signal?: AbortSignal;
  }): Promise<{ readonly objects: number; readonly bytes: number }>;
}

/** Matches the name of an object. */
export const OBJECT_NAME = /^[0-9a-f]{64}$/;
