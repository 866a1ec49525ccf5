// `npm run fuzz`: the test of all operations by requests made from the contract, with many more requests than `npm test`
// sends. `npm run fuzz -- --requests 1000000 --minutes 20 --seed 7` sends as many as it can in that time.
// Above 20,000 requests, slow operations get fewer than others. It prints each finding and the slowest request as it goes, so
// that a run may be stopped. Several runs with other seeds add up.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findMemoryDisk } from "./support/small-disk.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "20000" },
    /** Another one each time, which the output names. */
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 30)) },
    /** No further requests are sent after this time. */
    minutes: { type: "string", default: "60" },
  },
});

process.stdout.write(`seed ${values.seed}\n`);
const timeoutMs = (Number(values.minutes) + 5) * 60_000;
const folder = await mkdtemp(join((await findMemoryDisk()) ?? tmpdir(), "croft-fuzz-"));
const child = spawn(
  "vitest",
  ["run", "--project", "property", "--testTimeout", String(timeoutMs), "requests.test.ts"],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      TMPDIR: folder,
      CROFT_PROPERTY_RUNS: values.requests,
      CROFT_PROPERTY_SEED: values.seed,
      CROFT_FUZZ_MINUTES: values.minutes,
    },
  },
);
// The terminal sends it to both, and the homes of the stopped run are removed.
process.once("SIGINT", () => child.kill("SIGINT"));
const [status] = await once(child, "close");
await rm(folder, { recursive: true, force: true });
process.exitCode = Number(status ?? 1);
