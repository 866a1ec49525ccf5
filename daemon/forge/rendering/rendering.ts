import { availableParallelism } from "node:os";
import { createThreadPool } from "../../jobs/thread-pool.ts";
import type { Rendered, RendererOptions, RenderInput } from "./renderer.ts";
import { createRendering, type Rendering, type RenderingDeps } from "./rendering.service.ts";

/** Rendering with its threads. */
export interface RenderingWithThreads extends Rendering {
  /** Ends the threads; to be called once, when nothing is asked any more. */
  close(): Promise<void>;
}

/** How many large texts may wait for a thread; beyond that clients are asked to come back. */
const WAITING_MAX = 32;
const IDLE_MS = 30_000;

/** The document that makes the most of it: two MiB of text, parsed, and 24 MiB of HTML. */
const THREAD_MEMORY_MIB = 512;

/** Joins the service to the threads that large texts are rendered in; both are started by the first text. */
export function createRenderingWithThreads(
  deps: Omit<RenderingDeps, "createRenderer" | "threads"> & {
    /** Unpredictable bytes. */
    readonly random: (bytes: number) => Uint8Array;
  },
): RenderingWithThreads {
  const secret = `${Buffer.from(deps.random(16)).toString("hex")}:`;
  const options: RendererOptions = { secret, decorates: true };
  const threads = createThreadPool<RenderInput, Rendered>({
    workerUrl: new URL("./rendering.worker.ts", import.meta.url),
    workerData: options,
    threadsMax: Math.max(1, availableParallelism() - 1),
    queueMax: WAITING_MAX,
    idleMs: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MIB },
  });
  const rendering = createRendering({
    ...deps,
    threads,
    createRenderer: async () => (await import("./renderer.ts")).createRenderer(options),
  });
  return { render: rendering.render, close: threads.close };
}
