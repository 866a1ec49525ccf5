import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { channel, subscribe, tracingChannel } from "node:diagnostics_channel";
import { PerformanceObserver } from "node:perf_hooks";

/** A request that held the event loop, with the processor time of the longest piece, in milliseconds. */
export interface HeldLoop {
  readonly request: string;
  readonly cpuMs: number;
}

/**
 * Processor time of one piece of work on the event loop that counts as holding it, in milliseconds on a quiet machine. Pieces
 * should take 50 at most: the code of an early call is not compiled yet, so the same piece takes up to twice as long here.
 */
const HELD_MS = 100;

/**
 * Watches how long requests hold the event loop of this process, which the daemon of a test shares with the test. It
 * measures the processor time of the main thread from one callback or continuation to the next one, so that neither other
 * processes nor a slow disk count. Garbage collection is taken off, and so is the slowness of a machine whose processors
 * are shared: a fixed piece of work right after a long piece tells it. A piece that loads modules does not count: the
 * tests load sources one by one and translate them, where the daemon loads one bundle with its compiled code.
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
  const loads = countLoads();
  let begunAt = 0;
  let loadsBefore = 0;
  let measured = { at: -Infinity, cpu: 0 };
  const collections = new PerformanceObserver(ignore);
  collections.observe({ entryTypes: ["gc"] });
  const begin = () => {
    begunAt = performance.now();
    loadsBefore = loads();
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
    if (store !== undefined && loads() === loadsBefore) note(store, spentMs - collectedMs);
    begin();
  };
  const note = ({ request }: { request: string }, ms: number) => {
    if (ms < HELD_MS) return;
    const quietMs = ms / slowness();
    if (quietMs >= HELD_MS) held.push({ request, cpuMs: Math.round(quietMs) });
  };
  createHook({ before: begin, after: end }).enable();
  subscribe("http.server.request.start", (message) => {
    const { method, url } = (message as { request: { method: string; url: string } }).request;
    current.enterWith({ request: `${method} ${toRoute(url)}` });
  });
  return { take: () => held.splice(0) };
}

/** What Vitest keeps of the modules of the worker. */
interface VitestWorker {
  readonly evaluatedModules: { readonly idToModuleMap: ReadonlyMap<string, unknown> };
  readonly moduleExecutionInfo: ReadonlyMap<string, unknown>;
}

/** Returns a function whose value changes whenever a module is loaded or an import is under way. */
function countLoads(): () => number {
  const { __vitest_worker__: worker } = globalThis as unknown as {
    __vitest_worker__: VitestWorker;
  };
  let finished = 0;
  let running = 0;
  let asked = 0;
  tracingChannel("module.import").subscribe({
    start: () => void (running += 1),
    end: ignore,
    asyncStart: ignore,
    asyncEnd: () => void ((running -= 1), (finished += 1)),
    error: ignore,
  });
  channel("tracing:module.require:end").subscribe(() => void (finished += 1));
  return () => {
    const { evaluatedModules, moduleExecutionInfo } = worker;
    const loaded = evaluatedModules.idToModuleMap.size + moduleExecutionInfo.size + finished;
    // Each question gets another answer as long as an import runs.
    return running > 0 ? loaded + (asked += 1) / Number.MAX_SAFE_INTEGER : loaded;
  };
}

/** Interval of reading the processor time. A piece may seem longer by as much, which is taken off. */
const MEASURED_EVERY_MS = 5;
/** Processor time of the fixed work on a quiet machine, in milliseconds. */
const FIXED_WORK_MS = 16;

/** Returns how many times as long as on a quiet machine a piece of work takes now; at least 1. */
function slowness(): number {
  const from = cpuMs();
  const rows = Array.from({ length: 40_000 }, (_, at) => ({ id: (at * 7_919) % 40_000 }));
  JSON.parse(JSON.stringify(rows.toSorted((one, other) => one.id - other.id)));
  return Math.max(1, (cpuMs() - from) / FIXED_WORK_MS);
}

function ignore(): void {}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Returns the path of an address without its numbers and query, which differ between calls of one route. */
function toRoute(url: string): string {
  return url.replace(/\?.*$/s, "").replace(/\d+/g, "0");
}
