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
 * The files that the executable takes from node_modules: those that it uses of packages that npm installs with croft, and
 * their dependencies.
 */
const packagedFiles = [
  ["better-sqlite3", ["package.json", "LICENSE", "lib", `prebuilds/${target}.node`]],
  ["argon2", ["package.json", "LICENSE", "argon2.cjs", `prebuilds/${target}`]],
  ["@phc/format", ["package.json", "license", "index.js"]],
  ["node-gyp-build", ["package.json", "LICENSE", "index.js", "node-gyp-build.js"]],
  ["keytar", ["package.json", "LICENSE.md", "lib", `prebuilds/${target}`]],
] as const;

/** Optional dependencies: an executable without them is whole. */
const optionalPackages = new Set<string>(["keytar"]);

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
    await assembleRuntime(root, bundleFolder, runtime);
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

async function assembleRuntime(root: string, bundleFolder: string, runtime: string): Promise<void> {
  await mkdir(runtime);
  for (const path of await listFiles(bundleFolder)) {
    if (path !== "croft" && !path.startsWith("release/"))
      await cp(join(bundleFolder, path), join(runtime, path));
  }
  for (const [name, paths] of packagedFiles) {
    const source = join(root, "node_modules", name);
    const present = await stat(source).catch(() => undefined);
    if (present === undefined && optionalPackages.has(name)) continue;
    for (const path of paths) {
      await cp(join(source, path), join(runtime, "node_modules", name, path), { recursive: true });
    }
  }
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
