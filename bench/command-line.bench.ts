import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { built, makeHome } from "./daemon.ts";
import { atMost, median, report } from "./measure.ts";

// Whole processes, start to end: the single executable against Node's own floor.

const RUNS = 15;
const LIST_AIM = 2.5;

const executable = join(import.meta.dirname, "../dist/croft");
const [node, launcher = ""] = built;
await using home = await makeHome();
const daemon = await home.serve();
const env = {
  ...process.env,
  CROFT_HOME: home.home,
  CROFT_URL: daemon.url,
  CROFT_CREDENTIAL_STORE: "file",
};
const list = ["admin", "user", "list", "--json"];
const commands: [string, string, string[]][] = [
  ["node -e 0", node, ["-e", "0"]],
  ["npm package: croft --version", node, [launcher, "--version"]],
  ["npm package: croft admin user list --json", node, [launcher, ...list]],
];
if (existsSync(executable))
  commands.push(
    ["executable: croft --version", executable, ["--version"]],
    ["executable: croft admin user list --json", executable, list],
  );
const times = new Map<string, number[]>(commands.map(([name]) => [name, []]));
for (let i = 0; i <= RUNS; i += 1)
  for (const [name, program, args] of commands) {
    const startedAt = performance.now();
    const { status, stderr } = spawnSync(program, args, { env });
    if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr.toString()}`);
    // The first round fills caches and does not count.
    if (i > 0) times.get(name)?.push(performance.now() - startedAt);
  }
const floor = median(times.get("node -e 0") ?? []);
report("Command line, whole process, median of 15", [
  ...commands.map(([name]) => ({
    what: name,
    value: `${median(times.get(name) ?? []).toFixed(0)} ms`,
  })),
  ...(existsSync(executable)
    ? [
        atMost(
          "executable: list against node -e 0",
          median(times.get("executable: croft admin user list --json") ?? []) / floor,
          LIST_AIM,
          "",
        ),
      ]
    : [{ what: "executable", value: "skipped, run npm run build first" }]),
]);
await daemon.end("SIGTERM");
