import { serveThread } from "../../../../daemon/jobs/serve-thread.ts";

// A thread for tests: obeys its input.
serveThread(async (input: string) => {
  if (input === "for ever") for (;;);
  if (input === "rest") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
  if (input === "memory")
    for (const kept: unknown[] = []; ;) kept.push(new Array(100_000).fill(kept.length));
  if (input === "buffers")
    for (const kept: unknown[] = []; ;) kept.push(Buffer.alloc(1_000_000, kept.length + 1));
  if (input === "throw") throw new TypeError("as told");
  if (input === "exit") process.exit(3);
  if (input === "pid") return String(process.pid);
  return `did ${input}`;
});
