import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createMetrics } from "../../../../daemon/http/metrics.ts";

test("requests are counted by route, method and status, and timed in buckets that sum up", async () => {
  const metrics = createMetrics("1.2.3", () => 2_500);
  metrics.requestStarted();
  for (const seconds of [0.0005, 0.003, 0.003, 60])
    metrics.observe({ route: "forge.version.get", method: "GET", status: 200, seconds });
  metrics.observe({ route: "forge.version.get", method: "GET", status: 421, seconds: 0.5 });
  const { contentType, text } = await metrics.render();
  expect(contentType).toContain("text/plain");
  const lines = text.split("\n");
  const labels = 'route="forge.version.get"';
  const name = "croft_http_request_duration_seconds";
  expect(lines).toEqual(
    expect.arrayContaining([
      `croft_http_requests_total{${labels},method="GET",status="200"} 4`,
      `croft_http_requests_total{${labels},method="GET",status="421"} 1`,
      `${name}_bucket{le="0.001",${labels}} 1`,
      `${name}_bucket{le="0.005",${labels}} 3`,
      `${name}_bucket{le="0.5",${labels}} 4`,
      `${name}_bucket{le="10",${labels}} 4`,
      `${name}_bucket{le="+Inf",${labels}} 5`,
      `${name}_count{${labels}} 5`,
      "croft_http_requests_running 1",
      "croft_jobs_stalled_seconds 2.5",
      'croft_build_info{version="1.2.3"} 1',
    ]),
  );
  expect(text).toContain("croft_process_resident_memory_bytes");
  // Every line is a comment, a sample or the empty line between two metrics.
  for (const line of lines) expect(line).toMatch(/^(?:#.*|\w+(?:\{.*\})? \S+|)$/);
});

test("the metrics of the process are shared, and those of a stopped daemon leave the memory", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const stopped = await renderOnce();
  await expect
    .poll(
      () => {
        collectGarbage();
        return stopped.deref() === undefined;
      },
      { interval: 1 },
    )
    .toBe(true);
  const { text } = await createMetrics("2.0.0", () => 0).render();
  expect(text.match(/^# TYPE croft_nodejs_eventloop_lag_seconds /gm)).toHaveLength(1);
  expect(text).toContain('croft_build_info{version="2.0.0"} 1');
  expect(text).not.toContain('version="1.0.0"');
});

/** A function of its own, so that no variable of the test holds what it made. */
async function renderOnce(): Promise<WeakRef<() => number>> {
  const jobsStalledMs = () => 0;
  await createMetrics("1.0.0", jobsStalledMs).render();
  return new WeakRef(jobsStalledMs);
}
