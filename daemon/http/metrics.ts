import { collectDefaultMetrics, Gauge, register, Registry } from "prom-client";

/** Metrics of the transport in the text format of Prometheus. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Upper bounds of the histogram's buckets, in seconds. */
const BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10] as const;

/** Counters of one route. */
interface RouteFigures {
  /** By method, then by status. */
  readonly answers: Map<string, Map<number, number>>;
  /** Requests per bucket, not cumulative; the last one counts those above all bounds. */
  readonly counts: number[];
  sum: number;
}

/**
 * Creates the metrics of one daemon, with a registry of its own: tests run several daemons in one process. `jobsStalledMs`
 * is as in `JobQueue.stalledMs`.
 */
export function createMetrics(version: string, jobsStalledMs: () => number) {
  const registry = new Registry();
  collectProcessMetrics();
  const registers = [registry];
  let running = 0;
  new Gauge({
    name: "croft_http_requests_running",
    help: "Requests that are being answered.",
    registers,
    collect() {
      this.set(running);
    },
  });
  new Gauge({
    name: "croft_build_info",
    help: "Always 1; the version is a label.",
    labelNames: ["version"] as const,
    registers,
  }).set({ version }, 1);
  new Gauge({
    name: "croft_jobs_stalled_seconds",
    help: "Time since due jobs could last be started. Above a few seconds, no job, mail, hook or schedule runs.",
    registers,
    collect() {
      this.set(jobsStalledMs() / 1000);
    },
  });
  // Counted in plain maps and formatted on request: a counter of the library takes longer than some requests.
  const routes = new Map<string, RouteFigures>();
  const figuresOf = (route: string): RouteFigures => {
    const existing = routes.get(route);
    if (existing !== undefined) return existing;
    const counts = Array.from({ length: BUCKETS.length + 1 }, () => 0);
    const figures = { answers: new Map<string, Map<number, number>>(), counts, sum: 0 };
    routes.set(route, figures);
    return figures;
  };
  return {
    observe({
      route,
      method,
      status,
      seconds,
    }: {
      route: string;
      method: string;
      status: number;
      seconds: number;
    }): void {
      const figures = figuresOf(route);
      let answers = figures.answers.get(method);
      if (answers === undefined) figures.answers.set(method, (answers = new Map()));
      answers.set(status, (answers.get(status) ?? 0) + 1);
      figures.sum += seconds;
      const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
      const index = bucket === -1 ? BUCKETS.length : bucket;
      figures.counts[index] = (figures.counts[index] ?? 0) + 1;
    },
    requestStarted: (): void => {
      running += 1;
    },
    requestEnded: (): void => {
      running -= 1;
    },
    /** The content type and text of `/metrics`. */
    render: async (): Promise<{ contentType: string; text: string }> => ({
      contentType: registry.contentType,
      text: [
        await register.metrics(),
        await registry.metrics(),
        toRequestText(routes),
        toTimingText(routes),
      ].join("\n"),
    }),
  };
}

/**
 * Registers the library's metrics of the process, once, in the registry that the library keeps for the process. Their
 * observers of the event loop and of garbage collections have no end: those of each daemon would hold it in memory after
 * it has stopped.
 */
function collectProcessMetrics(): void {
  const prefix = "croft_";
  if (register.getSingleMetric(`${prefix}process_cpu_seconds_total`) === undefined)
    collectDefaultMetrics({ register, prefix });
}

function toRequestText(routes: ReadonlyMap<string, RouteFigures>): string {
  const name = "croft_http_requests_total";
  const lines = [...routes].flatMap(([route, { answers }]) =>
    [...answers].flatMap(([method, byStatus]) =>
      [...byStatus].map(
        ([status, count]) =>
          `${name}{route="${route}",method="${method}",status="${status}"} ${count}`,
      ),
    ),
  );
  return [
    `# HELP ${name} Requests answered, by operation and status.`,
    `# TYPE ${name} counter`,
    ...lines,
    "",
  ].join("\n");
}

function toTimingText(routes: ReadonlyMap<string, RouteFigures>): string {
  const name = "croft_http_request_duration_seconds";
  const lines = [...routes].flatMap(([route, { counts, sum }]) => {
    let total = 0;
    const buckets = counts.map((count, index) => {
      total += count;
      return `${name}_bucket{le="${BUCKETS[index] ?? "+Inf"}",route="${route}"} ${total}`;
    });
    return [
      ...buckets,
      `${name}_sum{route="${route}"} ${sum}`,
      `${name}_count{route="${route}"} ${total}`,
    ];
  });
  return [
    `# HELP ${name} Time from the request's head to the end of the answer.`,
    `# TYPE ${name} histogram`,
    ...lines,
    "",
  ].join("\n");
}
