import { serveProcess } from "../../../../daemon/jobs/serve-process.ts";

// A process for tests: its thread obeys the input.
serveProcess({
  workerUrl: new URL("./endless.worker.ts", import.meta.url),
  workerData: undefined,
  threadsMax: 1,
  runningPerCallerMax: 1,
  queue: { lengthMax: 1, lengthPerCallerMax: 1, sizeMax: 1 },
  idleMs: 60_000,
  resourceLimits: { maxOldGenerationSizeMb: 64 },
  growthBytesMax: 200 * 1024 * 1024,
});
