import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

/** Counters of the transport, in Prometheus' text format. */
export interface Metrics {
  observe(what: { route: string; method: string; status: number; seconds: number }): void;
  requestStarted(): void;
  requestEnded(): void;
  /** The content type and text of `/metrics`. */
  render(): Promise<{ contentType: string; text: string }>;
}

/** Makes an own registry: nothing is shared between two daemons in one process. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "croft_" });
  const registers = [registry];
  const requests = new Counter({
    name: "croft_http_requests_total",
    help: "Requests answered, by operation and status.",
    labelNames: ["route", "method", "status"] as const,
    registers,
  });
  const duration = new Histogram({
    name: "croft_http_request_duration_seconds",
    help: "Time from the request's head to the end of the answer.",
    labelNames: ["route"] as const,
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers,
  });
  const running = new Gauge({
    name: "croft_http_requests_running",
    help: "Requests that are being answered.",
    registers,
  });
  new Gauge({
    name: "croft_build_info",
    help: "Always 1; the version is a label.",
    labelNames: ["version"] as const,
    registers,
  }).set({ version }, 1);
  return {
    observe: ({ route, method, status, seconds }) => {
      requests.inc({ route, method, status });
      duration.observe({ route }, seconds);
    },
    requestStarted: () => running.inc(),
    requestEnded: () => running.dec(),
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}
