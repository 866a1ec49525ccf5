import { createHash, type Hash } from "node:crypto";
import { Readable, type Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { finished } from "node:stream/promises";
import { discard } from "../owner.ts";
import type { CheckChunk } from "../pump.ts";
import type { ObjectStore, ObjectStream } from "./object-store.ts";

/** One stored copy of an object, opened for reading. */
export interface OpenedCopy {
  /** Identifies this copy and changes when its bytes are written to, as an inode with its change time does. */
  readonly id: string;
  readonly stream: Readable;
  /** Files have it: writes the bytes to another stream, see `pump`. Called in place of reading `stream`, which stays open. */
  readonly sendTo?: (to: Writable, check?: CheckChunk) => Promise<void>;
}

/** A stored object whose bytes do not match its name. */
export interface ObjectDamage {
  readonly sha256: string;
  readonly size: number;
  /**
   * `quarantined`: the copy was moved out of the way. `left_in_place`: that failed; every read of it fails again.
   * `intact_on_second_read`: the read was faulty, the stored bytes are not.
   */
  readonly outcome: "quarantined" | "left_in_place" | "intact_on_second_read";
}

export interface VerifiedReadsDeps {
  /** Opens the bytes of an object without verifying them; undefined when it is missing or has another size. */
  openCopy(...args: Parameters<ObjectStore["open"]>): Promise<OpenedCopy | undefined>;
  /** Moves this copy out of the reach of reads. `gone`: it no longer exists. */
  quarantine(sha256: string, copyId: string): Promise<"quarantined" | "left_in_place" | "gone">;
  /** Reports damage to the operator. Called once for each copy that is quarantined. */
  readonly onDamaged: (damage: ObjectDamage) => void;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Thrown into a stream whose bytes do not match the name of the object. */
export class DamagedObject extends Error {
  override readonly name = "DamagedObject";
  constructor(sha256: string) {
    super(`the stored object ${sha256} does not match its SHA-256`);
  }
}

const READ_BYTES = 64 * 1024;
/** Objects up to this size are verified in memory before the first byte is returned. */
const IN_MEMORY_BYTES = 256 * 1024;
/** Time for which a verified copy serves ranges before it is verified again. */
const TRUSTED_MS = 10 * 60_000;
/** Cached verifications; the oldest is evicted first. */
const TRUSTED_MAX = 10_000;
/** Maximum number of further verifications of a range whose copy was replaced in the meantime. */
const REPLACEMENTS_MAX = 3;

/**
 * Makes the `open` of an object store verify every object against the SHA-256 that names it. A small object is verified
 * before it is returned; the stream of a larger one ends with `DamagedObject` before its last chunk. A range is returned
 * only of a copy that was read whole and verified in the last ten minutes and has not changed since; such a copy of a large
 * file is not verified again when it is read whole. A damaged copy is read a second time, in case only the transfer was
 * faulty, and then quarantined.
 */
export function createVerifiedOpen(deps: VerifiedReadsDeps): ObjectStore["open"] {
  const { openCopy, clock } = deps;
  const trusted = new Map<string, { readonly copyId: string; readonly at: number }>();
  const verifying = new Map<string, Promise<boolean>>();

  return async (sha256, size, range) => {
    if (range !== undefined && (range.start > 0 || range.end < size - 1))
      return openRange(sha256, size, range);
    const copy = await openCopy(sha256, size);
    if (copy === undefined) return undefined;
    if (size > IN_MEMORY_BYTES)
      return copy.sendTo !== undefined && copy.id === trustedCopy(sha256)
        ? withSending(copy.stream, copy)
        : verify(copy, sha256, size);
    const stream = verify(copy, sha256, size);
    const bytes = await buffer(stream).catch(ifDamaged);
    return bytes && Readable.from([bytes], { objectMode: false });
  };

  async function openRange(
    sha256: string,
    size: number,
    range: NonNullable<Parameters<ObjectStore["open"]>[2]>,
  ): Promise<ObjectStream | undefined> {
    for (let attempt = 0; attempt < REPLACEMENTS_MAX; attempt += 1) {
      if (trustedCopy(sha256) === undefined && !(await verifyWhole(sha256, size))) return undefined;
      const copy = await openCopy(sha256, size, range);
      if (copy === undefined) return undefined;
      if (copy.id === trustedCopy(sha256)) return withSending(copy.stream, copy);
      // The copy was replaced or written to after it was verified.
      discard(copy.stream);
      trusted.delete(sha256);
    }
    return undefined;
  }

  function trustedCopy(sha256: string): string | undefined {
    const found = trusted.get(sha256);
    return found === undefined || clock() - found.at > TRUSTED_MS ? undefined : found.copyId;
  }

  function trust(sha256: string, copyId: string): void {
    trusted.delete(sha256);
    trusted.set(sha256, { copyId, at: clock() });
    const [oldest] = trusted.keys();
    if (trusted.size > TRUSTED_MAX && oldest !== undefined) trusted.delete(oldest);
  }

  /** Reads an object whole; simultaneous calls share one read. Returns whether it exists and is undamaged. */
  function verifyWhole(sha256: string, size: number): Promise<boolean> {
    const running = verifying.get(sha256);
    if (running !== undefined) return running;
    const work = async () => {
      const copy = await openCopy(sha256, size);
      if (copy === undefined) return false;
      const stream = verify(copy, sha256, size);
      const end = finished(stream);
      stream.resume();
      return end.then(() => true, ifDamaged).then((isWhole) => isWhole === true);
    };
    const started = work().finally(() => verifying.delete(sha256));
    verifying.set(sha256, started);
    return started;
  }

  /** The bytes of a copy; ends with `DamagedObject` instead of the last chunk when they do not match. */
  function verify(copy: OpenedCopy, sha256: string, size: number): ObjectStream {
    // A generator begins with the first read, which never comes when the bytes are sent.
    const stream = Readable.from(verifiedChunks(copy, sha256, size), {
      objectMode: false,
      highWaterMark: READ_BYTES,
    });
    stream.on("close", () => discard(copy.stream));
    return withSending(stream, copy, () => {
      const hash = createHash("sha256");
      return async (chunk, isLast) => {
        hash.update(chunk);
        if (isLast) await judge(hash, copy.id, sha256, size);
      };
    });
  }

  async function* verifiedChunks(
    { id, stream }: OpenedCopy,
    sha256: string,
    size: number,
  ): AsyncGenerator<Uint8Array> {
    const hash = createHash("sha256");
    let last: Uint8Array | undefined;
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      hash.update(chunk);
      if (last !== undefined) yield last;
      last = chunk;
    }
    await judge(hash, id, sha256, size);
    if (last !== undefined) yield last;
  }

  /** Trusts a copy that was read whole, or throws `DamagedObject`. */
  async function judge(hash: Hash, copyId: string, sha256: string, size: number): Promise<void> {
    if (hash.digest("hex") === sha256) {
      trust(sha256, copyId);
      return;
    }
    await reportDamage(copyId, sha256, size);
    throw new DamagedObject(sha256);
  }

  async function reportDamage(copyId: string, sha256: string, size: number): Promise<void> {
    trusted.delete(sha256);
    const copy = await openCopy(sha256, size);
    // Another caller has quarantined it, or it was replaced.
    if (copy === undefined) return;
    if (copy.id !== copyId) {
      discard(copy.stream);
      return;
    }
    const hash = createHash("sha256");
    for await (const chunk of copy.stream as AsyncIterable<Buffer>) hash.update(chunk);
    if (hash.digest("hex") === sha256) {
      deps.onDamaged({ sha256, size, outcome: "intact_on_second_read" });
      return;
    }
    const outcome = await deps.quarantine(sha256, copyId);
    if (outcome !== "gone") deps.onDamaged({ sha256, size, outcome });
  }
}

/** Gives a stream of the copy's bytes `sendTo`, if the copy has it. `createCheck` makes the check of the sent chunks. */
function withSending(
  stream: ObjectStream,
  copy: OpenedCopy,
  createCheck?: () => CheckChunk,
): ObjectStream {
  const { sendTo } = copy;
  if (sendTo === undefined) return stream;
  stream.sendTo = async (to) => {
    try {
      await sendTo(to, createCheck?.());
    } catch (error) {
      discard(stream);
      throw error;
    }
    // Its listeners hear the end before the caller goes on, as they do after a pipeline.
    stream.push(null);
    stream.resume();
    await finished(stream);
  };
  return stream;
}

function ifDamaged(error: unknown): undefined {
  if (!(error instanceof DamagedObject)) throw error;
  return undefined;
}
