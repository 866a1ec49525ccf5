import { serveThread } from "../../../jobs/serve-thread.ts";
import { draw } from "./draw.ts";

// Entry of a worker thread that draws untrusted files.
serveThread(draw);
