// bench: how fast croft is, always against something that runs in the same minute on the same machine.
// Start here: the few tools that the benchmarks share.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const run = promisify(execFile);

/** One line of the report. A ratio has an aim; a plain figure does not. */
export interface Figure {
  readonly label: string;
  readonly value: string;
  readonly aim?: string;
  readonly reached?: boolean;
}

/** Prints the figures of one benchmark as an aligned list. */
export function report(title: string, figures: readonly Figure[]): void {
  console.log(`\n${title}`);
  const width = Math.max(...figures.map((figure) => figure.label.length));
  for (const { label, value, aim, reached } of figures) {
    const verdict =
      aim === undefined ? "" : `  (aim ${aim}: ${reached === true ? "reached" : "MISSED"})`;
    console.log(`  ${label.padEnd(width)}  ${value}${verdict}`);
  }
}

/** A figure with a lower bound. */
export function atLeast(label: string, ratio: number, aim: number): Figure {
  return { label, value: ratio.toFixed(2), aim: `at least ${aim}`, reached: ratio >= aim };
}

/** A figure with an upper bound. */
export function atMost(label: string, value: number, aim: number, unit: string): Figure {
  return {
    label,
    value: `${value.toFixed(unit === "" ? 2 : 0)} ${unit}`.trim(),
    aim: `at most ${aim} ${unit}`.trim(),
    reached: value <= aim,
  };
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
