import { workerData } from "node:worker_threads";
import { serveThread } from "../../jobs/serve-thread.ts";
import { createRenderer, type RenderInput, type RendererOptions } from "./renderer.ts";

// The entry of a thread that renders what is too large for the thread that answers requests.
const renderer = createRenderer(workerData as RendererOptions);
serveThread((input: RenderInput) => renderer.render(input));
