import { serveThread } from "../../../jobs/serve-thread.ts";
import { extract } from "./extract.ts";

// Entry of a worker thread that extracts the text of untrusted files.
serveThread(extract);
