// bench: how fast croft is, always against something that runs in the same minute on the same machine.
// Start here: the few tools that the benchmarks share.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { aimOf, usageOf, verdictOf } from "./report.ts";
import type { Figure, Section, Usage } from "./results.ts";

const run = promisify(execFile);

/**
 * Prints the figures of one section as an aligned list, and hands them to the run for its report. `why` says why the aims
 * are what they are.
 */
export function report(title: string, why: string, figures: readonly Figure[]): void {
  const section: Section = {
    bench: basename(process.argv[1] ?? "").replace(/\.(?:bench|long)\.ts$/, ""),
    title,
    why,
    figures,
    usage: takeUsage(),
    referenceMs: timeReferenceWork(),
  };
  console.log(`\n${title}\n  ${why}`);
  const width = Math.max(...figures.map((figure) => figure.label.length));
  for (const figure of figures) {
    const verdict =
      figure.measured === undefined ? "" : `  (aim ${aimOf(figure)}: ${verdictOf(figure)})`;
    console.log(`  ${figure.label.padEnd(width)}  ${figure.value}${verdict}`);
  }
  console.log(`  ${usageOf(section)}`);
  const file = process.env["CROFT_BENCH_RESULTS"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(section)}\n`);
}

/** A figure with a lower bound: a ratio, or a rate with its unit. */
export function atLeast(label: string, value: number, aim: number, unit = ""): Figure {
  const text = `${value.toFixed(unit === "" ? 2 : 0)} ${unit}`.trim();
  return { label, value: text, measured: { value, unit, better: "higher", aim } };
}

/** A figure with an upper bound. */
export function atMost(label: string, value: number, aim: number, unit: string): Figure {
  const text = `${value.toFixed(unit === "" ? 2 : 0)} ${unit}`.trim();
  return { label, value: text, measured: { value, unit, better: "lower", aim } };
}

const daemons = new Set<number>();
let ended = { seconds: 0, mib: 0 };
let reported = { daemonSeconds: 0, ownSeconds: 0 };

/** Counts the processor time and memory of a daemon from now on. Returns the function to call before it ends. */
export function watchDaemon(pid: number): () => void {
  daemons.add(pid);
  return () => {
    if (!daemons.delete(pid)) return;
    const { seconds, mib } = usageOfProcess(pid);
    ended = { seconds: ended.seconds + seconds, mib: Math.max(ended.mib, mib) };
  };
}

/** Returns what was used since the last call. */
function takeUsage(): Usage {
  const running = [...daemons].map(usageOfProcess);
  const daemonSeconds = running.reduce((sum, { seconds }) => sum + seconds, ended.seconds);
  const { user, system } = process.cpuUsage();
  const ownSeconds = (user + system) / 1_000_000;
  const usage = {
    daemonSeconds: daemonSeconds - reported.daemonSeconds,
    ownSeconds: ownSeconds - reported.ownSeconds,
    daemonMiB: Math.max(ended.mib, ...running.map(({ mib }) => mib)),
  };
  reported = { daemonSeconds, ownSeconds };
  ended = { ...ended, mib: 0 };
  for (const pid of daemons) resetPeak(pid);
  return usage;
}

/** Linux counts processor time in hundredths of a second, whatever its kernel does (proc_pid_stat(5), USER_HZ). */
const TICKS_PER_SECOND = 100;

function usageOfProcess(pid: number): { seconds: number; mib: number } {
  try {
    const [user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")
      .slice(11, 13)
      .map(Number);
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const mib = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
    return { seconds: (user + system) / TICKS_PER_SECOND, mib };
  } catch {
    // A daemon that was killed: its usage is lost with it. Other systems have no /proc.
    return { seconds: 0, mib: 0 };
  }
}

/** Has the peak of the resident memory counted anew (proc_pid_clear_refs(5)). */
function resetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // The peak then stays that of the whole run.
  }
}

const REFERENCE_ROUNDS = 7;
const referenceBytes = Buffer.alloc(4 * 1024 ** 2, "croft");

/** Milliseconds of a fixed piece of work on this machine under its load of now: the unit of all times in the baseline. */
function timeReferenceWork(): number {
  const times = Array.from({ length: REFERENCE_ROUNDS }, () => {
    const startedAt = performance.now();
    createHash("sha256").update(referenceBytes).digest();
    const rows = Array.from({ length: 20_000 }, (_, at) => ({ id: (at * 7_919) % 20_000 }));
    JSON.parse(JSON.stringify(rows.toSorted((one, other) => one.id - other.id)));
    return performance.now() - startedAt;
  });
  return median(times);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The first of `names` that is installed, or undefined. */
export async function findProgram(...names: string[]): Promise<string | undefined> {
  for (const name of names) {
    const found = await run("sh", ["-c", `command -v ${name}`]).then(
      ({ stdout }) => stdout.trim(),
      () => "",
    );
    if (found !== "") return found;
  }
  return undefined;
}

/** Requests per second as wrk counts them, one thread so that the server keeps a core for itself. */
export async function load(
  url: string,
  {
    seconds = 3,
    connections = 32,
    headers = {},
  }: { seconds?: number; connections?: number; headers?: Record<string, string> } = {},
): Promise<number> {
  const { stdout } = await run("wrk", [
    "-t1",
    `-c${connections}`,
    `-d${seconds}s`,
    ...Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]),
    url,
  ]);
  const failed = /Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1];
  if (failed !== undefined) throw new Error(`${url}: ${failed} requests failed`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]);
}

/** A, B, A, B, …: the median of the ratios of neighbours, so that a drifting machine does not count. */
export async function ratio(
  rounds: number,
  a: () => Promise<number>,
  b: () => Promise<number>,
): Promise<{ ratio: number; a: number; b: number }> {
  const pairs: { a: number; b: number }[] = [];
  for (let i = 0; i < rounds; i += 1) pairs.push({ a: await a(), b: await b() });
  return {
    ratio: median(pairs.map((pair) => pair.a / pair.b)),
    a: median(pairs.map((pair) => pair.a)),
    b: median(pairs.map((pair) => pair.b)),
  };
}

/** Resident memory of a process in MiB. */
export async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

/** Processor time that a process has used, in seconds. */
export const processorSeconds = (pid: number): number => usageOfProcess(pid).seconds;

/** Waits until a file exists that a job writes, for up to five minutes. */
export async function untilThere(file: string): Promise<void> {
  for (let left = 3_000; !existsSync(file); left -= 1) {
    if (left === 0) throw new Error(`${file} was not written`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A child that says on its first line of standard output that it is ready. */
export async function startChild(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<{ child: ChildProcess; line: string; stop: () => Promise<void> }> {
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once("line", resolve);
    child.once("close", (code) => reject(new Error(`${program} ended with ${code}`)));
  });
  return {
    child,
    line,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
