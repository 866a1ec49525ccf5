import { workerData } from "node:worker_threads";
import { serveThread } from "../jobs/serve-thread.ts";
import type { RendererOptions, RenderInput } from "./document.ts";
import { createRenderer } from "./renderer.ts";

// Entry of a worker thread that renders untrusted text.
const renderer = createRenderer(workerData as RendererOptions);
serveThread((input: RenderInput) => renderer.render(input));
