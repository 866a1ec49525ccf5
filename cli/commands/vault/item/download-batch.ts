import { createHash } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, toCliError } from "../../../errors.ts";
import { type BatchLine, parseBatchLine, toLineFailure } from "./batch-lines.ts";

/** Files up to this size, in bytes, come in batches; the daemon reads files of this size ahead. */
export const SMALL_DOWNLOAD_BYTES_MAX = 256 * 1024;

/** Maximum files of one request, and concurrent requests: one is written to the local disk while the next is read. */
const FILES_MAX = 200;
const REQUESTS_MAX = 2;
/** With `isPaced`: pause between requests, unless this many files wait. */
const PACE_MS = 1_000;
const PACED_FILES_MIN = 100;
/** Attempts for one file when connections close early. */
const ATTEMPTS_MAX = 3;

/** Downloads small files, many in one request. */
export type DownloadBatches = ReturnType<typeof createDownloadBatches>;

interface Entry {
  readonly itemId: string;
  readonly done: PromiseWithResolvers<Buffer>;
  attempts: number;
  isDone: boolean;
}

/**
 * Creates the batches of one connection. A request takes all waiting files. `isPaced` is for callers that request the
 * next file after storing one elsewhere: without a pause, each file would become a request and count against the rate
 * limit.
 */
export function createDownloadBatches(
  cli: CliContext,
  connectionId: string,
  { isPaced = false }: { readonly isPaced?: boolean } = {},
) {
  const queue: Entry[] = [];
  let running = 0;
  let isPausing = false;

  return {
    /** Returns the bytes of an item after checking them against the daemon's length and hash. */
    download(itemId: string): Promise<Buffer> {
      const done = Promise.withResolvers<Buffer>();
      queue.push({ itemId, done, attempts: 0, isDone: false });
      // The tasks that are started in the same turn go into one request.
      setImmediate(start);
      return done.promise;
    },
  };

  function start(): void {
    const ended = () => {
      running -= 1;
      start();
    };
    while (running < REQUESTS_MAX && queue.length > 0) {
      if (isPausing && queue.length < PACED_FILES_MIN) return;
      if (isPaced && !isPausing) pause();
      running += 1;
      // A failed batch has rejected its entries.
      fetchBatch(queue.splice(0, FILES_MAX)).then(ended, ended);
    }
  }

  function pause(): void {
    isPausing = true;
    const ended = () => {
      isPausing = false;
      start();
    };
    // After a stop signal the next request fails.
    cli.system.sleep(PACE_MS, cli.signal).then(ended, ended);
  }

  async function fetchBatch(entries: readonly Entry[]): Promise<void> {
    try {
      await readArchive(entries);
      if (!entries.every(({ isDone }) => isDone))
        throw new CliError("unexpected_answer", "the daemon left out files of a batch");
    } catch (error) {
      const failure = cli.signal.aborted ? toCliError(cli.signal.reason) : toCliError(error);
      for (const entry of entries) {
        if (entry.isDone) continue;
        entry.attempts += 1;
        const mayRetry = failure.code === "daemon_unreachable" && entry.attempts < ATTEMPTS_MAX;
        if (mayRetry) queue.push(entry);
        else reject(entry, failure);
      }
    }
  }

  async function readArchive(entries: readonly Entry[]): Promise<void> {
    const waiting = Map.groupBy(entries, ({ itemId }) => itemId);
    const find = (itemId: unknown) => waiting.get(String(itemId))?.find(({ isDone }) => !isDone);
    const { extract } = await import("tar-stream");
    const answer = await cli.client.exchange(
      vault.downloadBatch,
      { params: { connection_id: connectionId } },
      {
        contentType: "application/json",
        body: () => JSON.stringify({ item_ids: entries.map(({ itemId }) => itemId) }),
      },
    );
    const archive = extract();
    const reading = pipeline(answer.stream, archive as unknown as NodeJS.WritableStream);
    // The loop below reports the failure as well.
    reading.catch(() => undefined);
    for await (const part of archive) {
      const { name, size, pax } = part.header;
      const chunks = (await Array.fromAsync(part)) as Buffer[];
      const bytes = Buffer.concat(chunks);
      if (name === OUTCOMES_ENTRY) {
        for (const line of bytes.toString("utf8").trimEnd().split("\n")) settle(line, find);
        continue;
      }
      const paxRecords = pax as Readonly<Record<string, string>> | null | undefined;
      const entry = find(paxRecords?.["CROFT.item_id"]);
      if (entry === undefined) continue;
      const sha256 = paxRecords?.["CROFT.sha256"];
      const isWhole =
        bytes.byteLength === size && (sha256 === undefined || sha256 === hashOf(bytes));
      if (!isWhole) throw new CliError("daemon_unreachable", "the bytes of a batch are corrupted");
      entry.isDone = true;
      entry.done.resolve(bytes);
    }
    await reading;
  }
}

/** The entry with the result of each item. */
const OUTCOMES_ENTRY = "croft-outcomes.ndjson";

/** Rejects the file that a line of the outcomes reports as failed. */
function settle(text: string, find: (itemId: unknown) => Entry | undefined): void {
  const line = parseBatchLine<BatchLine & { readonly provider_item_id: string }>(text);
  const failure = toLineFailure(line);
  const entry = failure === undefined ? undefined : find(line.provider_item_id);
  if (entry !== undefined && failure !== undefined) reject(entry, failure);
}

function reject(entry: Entry, error: CliError): void {
  entry.isDone = true;
  entry.done.reject(error);
}

function hashOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
