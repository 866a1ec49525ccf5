import { serveProcess } from "../../../jobs/serve-process.ts";

// Entry of the process that extracts the text of untrusted files.

/** Memory of the JavaScript heap. */
const HEAP_MIB = 512;
/** A picture of 40 million pixels takes 460 MiB to decode and recognize. */
const GROWTH_BYTES_MAX = 640 * 1024 * 1024;
/** The process that starts this one ends it earlier. */
const IDLE_MS = 600_000;

serveProcess({
  workerUrl: new URL("./extraction.worker.ts", import.meta.url),
  workerData: undefined,
  // One: extraction is background work and must leave the processor to requests.
  threadsMax: 1,
  runningPerCallerMax: 1,
  queue: { lengthMax: 1, lengthPerCallerMax: 1, sizeMax: 1 },
  idleMs: IDLE_MS,
  resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
  growthBytesMax: GROWTH_BYTES_MAX,
});
