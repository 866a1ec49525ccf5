import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { listFiles } from "./paths.ts";

const target = `${process.platform}-${process.arch}`;

/**
 * Makes `output`, one file that is croft, from the bundle in `bundleFolder` and the Node that runs this build.
 *
 * The executable is Node with a small script and the bundle's files as assets. The script unpacks the files once, into a
 * cache folder named after their hash, and starts `entry.js` from there. The other way, one ES module with everything in it
 * and only the addons unpacked, started slower: `--version` took 73 ms (150 without V8's code cache) against 36 ms, where an
 * empty Node script took 24. Files let a command read only the chunks it needs and let the compile cache keep what V8 made of
 * them; worker threads, `import.meta.url` and native packages then also work as they do in the sources.
 */
export async function makeExecutable(
  root: string,
  bundleFolder: string,
  output: string,
): Promise<void> {
  const workshop = await mkdtemp(join(tmpdir(), "croft-build-"));
  try {
    const runtime = join(workshop, "runtime");
    await assembleRuntime(bundleFolder, runtime);
    const files = await listFiles(runtime);
    const main = join(workshop, "main.cjs");
    await bundleMain(root, main, await hashFiles(runtime, files), await sizesOf(runtime, files));
    const config = {
      main,
      output: join(workshop, "croft"),
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
      // NODE_OPTIONS belongs to the user's own Node programs, not to this one.
      execArgvExtension: "none",
      assets: Object.fromEntries(files.map((path) => [path, join(runtime, path)])),
    };
    await writeFile(join(workshop, "sea.json"), JSON.stringify(config));
    await promisify(execFile)(process.execPath, ["--build-sea", join(workshop, "sea.json")]);
    await cp(config.output, `${output}.new`);
    await rename(`${output}.new`, output);
  } finally {
    await rm(workshop, { recursive: true });
  }
}

async function assembleRuntime(bundleFolder: string, runtime: string): Promise<void> {
  await mkdir(runtime);
  for (const path of await listFiles(bundleFolder))
    if (isOfRuntime(path)) await cp(join(bundleFolder, path), join(runtime, path));
}

/**
 * Whether the executable holds a file of the bundle's folder: neither itself, also one that an interrupted build left, nor a
 * release, nor addons of other platforms.
 */
function isOfRuntime(path: string): boolean {
  if (path === "croft" || path === "croft.new" || path.startsWith("release/")) return false;
  const [, addon] = /\/prebuilds\/(.*)$/.exec(path) ?? [];
  return addon === undefined || addon.startsWith(`${target}.`) || addon.startsWith(`${target}/`);
}

async function hashFiles(folder: string, files: readonly string[]): Promise<string> {
  const hash = createHash("sha256").update(process.version);
  for (const path of files)
    hash
      .update(path)
      .update("\0")
      .update(await readFile(join(folder, path)));
  return hash.digest("hex").slice(0, 16);
}

async function sizesOf(folder: string, files: readonly string[]): Promise<[string, number][]> {
  return Promise.all(
    files.map(async (path): Promise<[string, number]> => [
      path,
      (await stat(join(folder, path))).size,
    ]),
  );
}

async function bundleMain(
  root: string,
  output: string,
  id: string,
  files: readonly [string, number][],
): Promise<void> {
  const main = await rolldown({
    input: join(root, "bin", "executable-entry.ts"),
    platform: "node",
    transform: { define: { RUNTIME_ID: JSON.stringify(id), RUNTIME_FILES: JSON.stringify(files) } },
  });
  await main.write({ file: output, format: "cjs", minify: true });
  await main.close();
}
