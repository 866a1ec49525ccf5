import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import { PerformanceObserver } from "node:perf_hooks";

/** A request that held the event loop, with the processor time of the longest piece, in milliseconds. */
export interface HeldLoop {
  readonly request: string;
  readonly cpuMs: number;
}

/** Processor time of one piece of work on the event loop that counts as holding it, in milliseconds. */
const HELD_MS = 100;
/** A piece of this length counts even if it happens once. */
const ALWAYS_HELD_MS = 500;

/**
 * Watches how long requests hold the event loop of this process, which the daemon of a test shares with the test. It
 * measures the processor time of the main thread from one callback or continuation to the next one, so that neither other
 * processes nor a slow disk count. Garbage collection is taken off. The first piece of a route between 100 and 500 ms does
 * not count either: it may load and compile modules.
 */
export interface LoopWatch {
  /** Returns and forgets the requests that held the loop since the last call. */
  take(): HeldLoop[];
}

let watch: LoopWatch | undefined;

/** Starts to watch; later calls return the same watch. */
export function watchLoop(): LoopWatch {
  return (watch ??= startWatch());
}

function startWatch(): LoopWatch {
  const current = new AsyncLocalStorage<{ readonly request: string }>();
  const held: HeldLoop[] = [];
  const seen = new Set<string>();
  let begunAt = 0;
  let measured = { at: -Infinity, cpu: 0 };
  const collections = new PerformanceObserver(ignore);
  collections.observe({ entryTypes: ["gc"] });
  const begin = () => {
    begunAt = performance.now();
    // Reading the processor time takes longer than most pieces.
    if (begunAt - measured.at > MEASURED_EVERY_MS) measured = { at: begunAt, cpu: cpuMs() };
  };
  const end = () => {
    // A piece has at most as much processor time as it lasts.
    if (performance.now() - begunAt < HELD_MS) return;
    const store = current.getStore();
    const spentMs = cpuMs() - measured.cpu - MEASURED_EVERY_MS;
    const collectedMs = collections
      .takeRecords()
      .filter(({ startTime }) => startTime >= begunAt)
      .reduce((sum, { duration }) => sum + duration, 0);
    begin();
    if (store !== undefined) note(store.request, spentMs - collectedMs);
  };
  const note = (request: string, ms: number) => {
    if (ms < HELD_MS) return;
    const isFirst = !seen.has(request);
    seen.add(request);
    if (!isFirst || ms >= ALWAYS_HELD_MS) held.push({ request, cpuMs: Math.round(ms) });
  };
  createHook({ before: begin, after: end }).enable();
  subscribe("http.server.request.start", (message) => {
    const { method, url } = (message as { request: { method: string; url: string } }).request;
    current.enterWith({ request: `${method} ${toRoute(url)}` });
  });
  return { take: () => held.splice(0) };
}

/** Interval of reading the processor time. A piece may seem longer by as much, which is taken off. */
const MEASURED_EVERY_MS = 5;

function ignore(): void {}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Returns the path of an address without its numbers and query, which differ between calls of one route. */
function toRoute(url: string): string {
  return url.replace(/\?.*$/s, "").replace(/\d+/g, "0");
}
