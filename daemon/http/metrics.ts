import { collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** Counters of the transport, in Prometheus' text format. */
export interface Metrics {
  observe(what: { route: string; method: string; status: number; seconds: number }): void;
  requestStarted(): void;
  requestEnded(): void;
  /** The content type and text of `/metrics`. */
  render(): Promise<{ contentType: string; text: string }>;
}

/** Upper bounds of the histogram's buckets, in seconds. */
const BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10] as const;

interface Timing {
  /** Requests by bucket, not summed up; the last is what took longer than all bounds. */
  readonly counts: number[];
  sum: number;
}

/** Makes an own registry: nothing is shared between two daemons in one process. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "croft_" });
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
  // Counted in plain maps and put into words when asked: the library's own counters take longer than many an answer.
  const requests = new Map<string, number>();
  const timings = new Map<string, Timing>();
  return {
    observe({ route, method, status, seconds }) {
      const labels = `route="${route}",method="${method}",status="${status}"`;
      requests.set(labels, (requests.get(labels) ?? 0) + 1);
      let timing = timings.get(route);
      if (timing === undefined) {
        timing = { counts: Array.from({ length: BUCKETS.length + 1 }, () => 0), sum: 0 };
        timings.set(route, timing);
      }
      timing.sum += seconds;
      const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
      const index = bucket === -1 ? BUCKETS.length : bucket;
      timing.counts[index] = (timing.counts[index] ?? 0) + 1;
    },
    requestStarted: () => {
      running += 1;
    },
    requestEnded: () => {
      running -= 1;
    },
    render: async () => ({
      contentType: registry.contentType,
      text: [await registry.metrics(), toRequestText(requests), toTimingText(timings)].join("\n"),
    }),
  };
}

function toRequestText(requests: ReadonlyMap<string, number>): string {
  const name = "croft_http_requests_total";
  return [
    `# HELP ${name} Requests answered, by operation and status.`,
    `# TYPE ${name} counter`,
    ...[...requests].map(([labels, count]) => `${name}{${labels}} ${count}`),
    "",
  ].join("\n");
}

function toTimingText(timings: ReadonlyMap<string, Timing>): string {
  const name = "croft_http_request_duration_seconds";
  const lines = [...timings].flatMap(([route, { counts, sum }]) => {
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
