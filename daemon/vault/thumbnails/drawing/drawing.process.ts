import { serveProcess } from "../../../jobs/serve-process.ts";

// Entry of the process that draws untrusted files.

/** Memory of the JavaScript heap. */
const HEAP_MIB = 256;
/** A picture of 40 million pixels takes 160 MiB, and its decoder as much again. */
const GROWTH_BYTES_MAX = 512 * 1024 * 1024;
/** The process that starts this one ends it earlier. */
const IDLE_MS = 600_000;

serveProcess({
  workerUrl: new URL("./drawing.worker.ts", import.meta.url),
  workerData: undefined,
  // One: the processor is left to requests.
  threadsMax: 1,
  runningPerCallerMax: 1,
  queue: { lengthMax: 1, lengthPerCallerMax: 1, sizeMax: 1 },
  idleMs: IDLE_MS,
  resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
  growthBytesMax: GROWTH_BYTES_MAX,
});
