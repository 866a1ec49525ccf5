import { mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { bundle } from "./bundle.ts";
import { makeExecutable } from "./executable.ts";

const help = `npm run build [-- OPTIONS]

Bundles croft into dist/ and makes the single executable dist/croft.

  --no-executable  leave out the executable, which takes most of the time
  --if-stale       do nothing that a build newer than the sources already did
`;

/** The inputs of a build; a change in any of them makes the build stale. */
const inputs = [
  "bin",
  "cli",
  "daemon",
  "storage",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
];

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

try {
  await main();
} catch (error) {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${process.stderr.isTTY ? text : stripVTControlCharacters(text)}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      executable: { type: "boolean", default: true },
      "if-stale": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
    allowNegative: true,
  });
  if (values.help) {
    process.stdout.write(help);
    return;
  }
  const changedAt = values["if-stale"] ? await newestChange() : Number.POSITIVE_INFINITY;
  if ((await builtAt("entry.js")) < changedAt) await timed("dist", replaceBundle);
  const executable = process.platform === "win32" ? "croft.exe" : "croft";
  if (values.executable && (await builtAt(executable)) < changedAt) {
    await timed(`dist/${executable}`, () => makeExecutable(root, dist, join(dist, executable)));
  }
}

/** Replaces the build atomically; after a failure the previous build remains. Concurrent builds do no harm. */
async function replaceBundle(): Promise<void> {
  // Beside dist, so that a rename is enough, and where neither git nor the tools look.
  const workshop = await mkdtemp(join(root, "node_modules", ".croft-build-"));
  try {
    const fresh = join(workshop, "fresh");
    await mkdir(fresh);
    await bundle(root, fresh);
    for (let attempt = 0; ; attempt += 1) {
      await rename(dist, join(workshop, `before-${attempt}`)).catch(ignore("ENOENT"));
      if (await rename(fresh, dist).then(() => true, ignore("ENOTEMPTY", "EEXIST"))) return;
    }
  } finally {
    await rm(workshop, { recursive: true });
  }
}

/** Ignores errors that a concurrent build may cause. */
function ignore(...codes: readonly string[]) {
  return (error: NodeJS.ErrnoException): undefined => {
    if (error.code === undefined || !codes.includes(error.code)) throw error;
  };
}

async function builtAt(name: string): Promise<number> {
  const stats = await stat(join(dist, name)).catch(() => undefined);
  return stats?.mtimeMs ?? Number.NEGATIVE_INFINITY;
}

/** Folders count too: their time changes when a file is added, renamed or removed. */
async function newestChange(): Promise<number> {
  const times = await Promise.all(inputs.map((name) => newestBelow(join(root, name))));
  return Math.max(...times);
}

async function newestBelow(path: string): Promise<number> {
  const stats = await stat(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  const names = await readdir(path);
  const times = await Promise.all(names.map((name) => newestBelow(join(path, name))));
  return Math.max(stats.mtimeMs, ...times);
}

async function timed(step: string, work: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  await work();
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  console.log(`built ${step} in ${seconds} s`);
}
