import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { toChart, toHtml, toMarkdown } from "./report.ts";
import { compareWith, mergeBaseline, toBaseline, type Baseline, type Section } from "./results.ts";

// `npm run bench`: runs every benchmark, one after the other, each in its own process, and writes one report.

const HELP = `Usage: npm run bench -- [name…] [options]

Runs the benchmarks with these names, or all, and writes one report. A part of a name stands for all names that contain it.
Build first: npm run build -- --no-executable

Options:
  --compare         compare with bench/baseline.json; a row that lost more than 20 % ends with exit code 1
  --save            write the rows of this run into bench/baseline.json, in place of those of the same sections; the
                    rows of all other sections stay, so that the benchmarks can be run one after the other
  --output FOLDER   folder of the report: report.md, report.html, chart.svg, results.json
                    (default: bench/report)
  --list            print the names

Take long, and run only when they are named: scale (a large repository, 100,000 issues, 1,000,000 documents, 1,000 users
at work), load (200 connections) and vault-large (a file of 4 GiB). CROFT_BENCH_PART=0.1 takes a tenth of each.
`;

const baselineFile = join(import.meta.dirname, "baseline.json");

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const { values: options, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      compare: { type: "boolean", default: false },
      save: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      output: { type: "string", default: join(import.meta.dirname, "report") },
    },
  });
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const names = await listBenchmarks(positionals);
  if (options.list) {
    process.stdout.write(`${names.map(nameOf).join("\n")}\n`);
    return 0;
  }
  if (names.length === 0) {
    process.stderr.write(`No benchmark is named ${positionals.join(" or ")}.\n`);
    return 2;
  }
  const { sections, failed } = await runBenchmarks(names);
  const rows = toBaseline(sections);
  const baseline = await readBaseline();
  const compared = options.compare ? compareWith(baseline, rows) : [];
  const report = { sections, compared, failed, machine: describeMachine() };
  await mkdir(options.output, { recursive: true });
  await writeFile(join(options.output, "report.md"), toMarkdown(report));
  await writeFile(join(options.output, "report.html"), toHtml(report));
  await writeFile(join(options.output, "chart.svg"), toChart(sections));
  await writeFile(
    join(options.output, "results.json"),
    `${JSON.stringify(sections, undefined, 2)}\n`,
  );
  console.log(
    `\nWrote ${join(options.output, "report.md")}, report.html, chart.svg and results.json.`,
  );
  if (options.save) await saveBaseline(mergeBaseline(baseline, sections));
  const fallen = compared.filter(({ hasFallen }) => hasFallen);
  if (options.compare) {
    console.log(
      `${compared.length} rows compared with the baseline, ${fallen.length} have fallen.`,
    );
    for (const { name, before, ratio, change } of fallen)
      console.log(`  ${name}: ${before} -> ${ratio} (${(change * 100).toFixed(0)} %)`);
  }
  return failed.length > 0 || fallen.length > 0 ? 1 : 0;
}

/** Returns the files of the named benchmarks. Those that take long, `….long.ts`, run only when they are named. */
async function listBenchmarks(requested: readonly string[]): Promise<readonly string[]> {
  const all = (await readdir(import.meta.dirname))
    .filter((file) => /\.(?:bench|long)\.ts$/.test(file))
    .toSorted();
  if (requested.length === 0) return all.filter((file) => file.endsWith(".bench.ts"));
  const names = new Set(all.map(nameOf));
  return all.filter((file) =>
    requested.some((part) => (names.has(part) ? nameOf(file) === part : file.includes(part))),
  );
}

function nameOf(file: string): string {
  return file.replace(/\.(?:bench|long)\.ts$/, "");
}

/** Runs each benchmark in a process of its own, which appends its sections to a file. */
async function runBenchmarks(
  files: readonly string[],
): Promise<{ sections: readonly Section[]; failed: readonly string[] }> {
  const folder = await mkdtemp(join(tmpdir(), "croft-bench-results-"));
  const results = join(folder, "sections.ndjson");
  await writeFile(results, "");
  const failed: string[] = [];
  try {
    for (const file of files) {
      const name = nameOf(file);
      console.log(`\n== ${name}`);
      const child = spawn(process.execPath, ["--import", "tsx", join(import.meta.dirname, file)], {
        stdio: "inherit",
        env: { ...process.env, CROFT_BENCH_RESULTS: results },
      });
      const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
      if (code !== 0) failed.push(name);
    }
    const lines = (await readFile(results, "utf8")).split("\n").filter((line) => line !== "");
    return { sections: lines.map((line) => JSON.parse(line) as Section), failed };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readBaseline(): Promise<Baseline> {
  return JSON.parse(await readFile(baselineFile, "utf8")) as Baseline;
}

/** One row a line, in order, so that a change reads well. */
async function saveBaseline(rows: Baseline): Promise<void> {
  const lines = Object.entries(rows)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, row]) => `  ${JSON.stringify(name)}: ${JSON.stringify(row)}`);
  await writeFile(baselineFile, `{\n${lines.join(",\n")}\n}\n`);
  console.log(`Wrote ${baselineFile}.`);
}

function describeMachine(): string {
  const load = loadavg()
    .map((value) => value.toFixed(1))
    .join(", ");
  const date = new Date().toISOString().slice(0, 10);
  return `${date}, ${cpus().length} processors (${cpus()[0]?.model ?? "unknown"}), Node ${process.versions.node}, load at the end ${load}.`;
}
