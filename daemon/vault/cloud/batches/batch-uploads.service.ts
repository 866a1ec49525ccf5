import { Readable } from "node:stream";
import { createSemaphore } from "../../../../storage/locks.ts";
import { describeIssue } from "../../../contract/issue-text.ts";
import { folderRef, itemName, itemParams } from "../../../contract/vault/cloud/shapes.ts";
import { AppError } from "../../../errors.ts";
import type { Log } from "../../../utilities/logging.ts";
import type { VaultCaller } from "../../caller.ts";
import type { CloudReplacements, ReplaceResult } from "../changes/replacements.service.ts";
import type { CloudUploads, UploadResult } from "../changes/uploads.service.ts";
import type { Adapters } from "../connections/adapters.ts";
import {
  FILES_AT_ONCE,
  SMALL_BYTES,
  toRefused,
  type BeginBatch,
  type Refused,
} from "./batch-limits.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";

/** One file of a batch; the next one arrives when its stream has been read. */
export interface BatchPart {
  /** The id of its folder, empty for the root; or of the file that is replaced. */
  readonly field: string;
  /** The name of the file; or the etag of the version that is replaced, percent-encoded. */
  readonly filename: string | undefined;
  readonly contentType: string | undefined;
  readonly stream: Readable;
}

/** The result of one file, or with `index` null the fault of the rest of the request. */
export interface BatchOutcome<Result> {
  /** The position of its part, from 0. */
  readonly index: number | null;
  readonly filename: string | null;
  readonly result: Result | Refused;
}

/** A batch that is about to run. */
export interface UploadBatch<Result> {
  /**
   * Uploads the files as they arrive and reports each as it ends. Resolves when all have ended, also after the client
   * has disconnected: a file that arrived whole is finished.
   */
  run(report: (outcome: BatchOutcome<Result>) => Promise<void>): Promise<void>;
  /** Call it once, after the batch. */
  release(): void;
}

/** Uploads of many files in one request. */
export type BatchUploads = ReturnType<typeof createBatchUploads>;

/** Sends one file to the provider. */
type Send<Result> = (part: BatchPart, content: Buffer | Readable) => Promise<Result | Refused>;

/**
 * Creates the service. Each file is an upload of its own, with its own record and audit. Small files are read into memory
 * and uploaded several at a time, which hides the latency of a provider; a larger one streams through while the parts behind
 * it wait.
 */
export function createBatchUploads(
  { log, beginBatch }: { readonly log: Log; readonly beginBatch: BeginBatch },
  adapters: Pick<Adapters, "own" | "open">,
  uploads: Pick<CloudUploads, "upload">,
  replacements: Pick<CloudReplacements, "replace">,
) {
  return {
    /** Refuses a missing connection, one that cannot be opened, and more batches of an account than may run at one time. */
    begin: (
      caller: VaultCaller,
      connectionId: ConnectionId,
      parts: AsyncIterable<BatchPart>,
    ): Promise<UploadBatch<UploadResult>> =>
      begin(caller, connectionId, parts, (part, content) =>
        uploadOne(caller, connectionId, part, content),
      ),

    /** The same for new bytes of files, each under the etag of the version that it replaces. */
    beginReplacing: (
      caller: VaultCaller,
      connectionId: ConnectionId,
      parts: AsyncIterable<BatchPart>,
    ): Promise<UploadBatch<ReplaceResult>> =>
      begin(caller, connectionId, parts, (part, content) =>
        replaceOne(caller, connectionId, part, content),
      ),
  };

  async function begin<Result>(
    caller: VaultCaller,
    connectionId: ConnectionId,
    parts: AsyncIterable<BatchPart>,
    send: Send<Result>,
  ): Promise<UploadBatch<Result>> {
    let release: (() => void) | undefined;
    try {
      await adapters.open(await adapters.own(caller.userId, connectionId));
      release = beginBatch(caller.userId);
    } catch (error) {
      discard(parts).catch((cause: unknown) =>
        log.error({ err: cause, connection_id: connectionId }, "failed to read a refused batch"),
      );
      throw error;
    }
    return { release, run: (report) => run(connectionId, parts, send, report) };
  }

  async function run<Result>(
    connectionId: ConnectionId,
    parts: AsyncIterable<BatchPart>,
    send: Send<Result>,
    report: (outcome: BatchOutcome<Result>) => Promise<void>,
  ): Promise<void> {
    const permit = createSemaphore({ permits: FILES_AT_ONCE });
    const underWay = new Set<Promise<void>>();
    let index = 0;
    let broken: { readonly error: unknown } | undefined;
    const start = (part: BatchPart): Promise<void> => {
      const [at, filename] = [index++, part.filename ?? null];
      // Resolves when the next part may be read. Waiting for a permit applies backpressure to the client.
      return new Promise((begun) => {
        const work = permit(async () => {
          const content = await readSmall(part.stream).catch((error: unknown) => toRefused(error));
          if (Buffer.isBuffer(content)) begun();
          const result =
            "kind" in content
              ? content
              : await send(part, content).catch((error: unknown) => {
                  const refused = toRefused(error);
                  if (refused.code === "internal")
                    log.error(
                      { err: error, connection_id: connectionId },
                      "failed to upload a file of a batch",
                    );
                  return refused;
                });
          await report({ index: at, filename, result });
        })
          .catch((error: unknown) =>
            log.error({ err: error, connection_id: connectionId }, "failed to report an upload"),
          )
          .finally(() => {
            part.stream.resume();
            underWay.delete(work);
            begun();
          });
        underWay.add(work);
      });
    };
    try {
      for await (const part of parts) await start(part);
    } catch (error) {
      broken = { error };
    }
    await Promise.all(underWay);
    if (broken === undefined) return;
    const result = toRefused(broken.error);
    if (result.code === "internal")
      log.error({ err: broken.error, connection_id: connectionId }, "failed to read a batch");
    await report({ index: null, filename: null, result });
  }

  async function uploadOne(
    caller: VaultCaller,
    connectionId: ConnectionId,
    part: BatchPart,
    content: Buffer | Readable,
  ): Promise<UploadResult | Refused> {
    const name = itemName.safeParse(part.filename ?? "", { error: describeIssue });
    const parent = folderRef.safeParse(part.field, { error: describeIssue });
    if (!name.success || !parent.success) {
      const message = (name.error ?? parent.error)?.issues[0]?.message ?? "Not a name";
      return { kind: "refused", code: "unprocessable", detail: message };
    }
    return uploads.upload(caller, connectionId, {
      parentRef: parent.data === "" ? undefined : parent.data,
      name: name.data,
      contentType: part.contentType,
      ...toSource(content),
    });
  }

  async function replaceOne(
    caller: VaultCaller,
    connectionId: ConnectionId,
    { field, filename, contentType }: BatchPart,
    content: Buffer | Readable,
  ): Promise<ReplaceResult | Refused> {
    const id = itemParams.shape.item_id.safeParse(field, { error: describeIssue });
    const ifMatch = decode(filename);
    if (!id.success || ifMatch === undefined) {
      const message = id.error?.issues[0]?.message ?? "This is not a percent-encoded etag";
      return { kind: "refused", code: "unprocessable", detail: message };
    }
    const place = { connection_id: connectionId, item_id: id.data };
    return replacements.replace(caller, place, {
      ifMatch: ifMatch === "" ? undefined : ifMatch,
      contentType,
      ...toSource(content),
    });
  }
}

function toSource(content: Buffer | Readable): {
  readonly content: Readable;
  readonly size: number | undefined;
} {
  return Buffer.isBuffer(content)
    ? { content: Readable.from([content]), size: content.byteLength }
    : { content, size: undefined };
}

/** Decodes an etag; undefined when it is not encoded. */
function decode(text = ""): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Reads a small file whole. A larger one is returned as a stream of all its bytes. */
async function readSmall(stream: Readable): Promise<Buffer | Readable> {
  const chunks: Buffer[] = [];
  let size = 0;
  const source = stream.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  for (;;) {
    const next = await source.next();
    if (next.done === true) return Buffer.concat(chunks, size);
    chunks.push(next.value);
    size += next.value.byteLength;
    if (size > SMALL_BYTES) break;
  }
  const whole = Readable.from(joined(chunks, source), { objectMode: false });
  // The upload may have failed before it reads: a late error must not end the process.
  whole.on("error", () => undefined);
  return whole;
}

async function* joined(
  first: readonly Buffer[],
  rest: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  yield* first;
  yield* rest;
}

/** Reads the rest of a refused request, so that the client gets to read its response. */
async function discard(parts: AsyncIterable<BatchPart>): Promise<void> {
  try {
    for await (const { stream } of parts) stream.resume();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
}
