import { createRequire, enableCompileCache, Module } from "node:module";
import { homedir, tmpdir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { getRawAsset } from "node:sea";
import { RUN_SCRIPT } from "../cli/runner/run-script.ts";
import { guardAddons } from "./addons.ts";
import type { Runtime } from "./unpack.ts";
import { keepUnpacked, unpackRuntime } from "./unpack.ts";

// Replaced by the build.
declare const RUNTIME_ID: string;
declare const RUNTIME_FILES: Runtime["files"];

const oneMinuteMs = 60_000;

const runtime: Runtime = {
  id: RUNTIME_ID,
  files: RUNTIME_FILES,
  read: (path) => new Uint8Array(getRawAsset(path)),
};

// As in croft.js: four calls that hang would hold every commit. Actions of a job choose for themselves.
if (process.argv[2] === RUN_SCRIPT) runScript();
else {
  process.env["UV_THREADPOOL_SIZE"] ??= "16";
  returnLargeBlocks();
  start();
}

/** Runs a script as Node would: the runner has no other Node for JavaScript actions. */
function runScript(): void {
  process.argv.splice(1, 2);
  Module.runMain();
}

/** As in croft.js. */
function returnLargeBlocks(): void {
  const { argv, env, execPath, platform, send } = process;
  if (platform !== "linux" || process.execve === undefined || send !== undefined) return;
  if (!argv.includes("serve") || env["MALLOC_MMAP_THRESHOLD_"] !== undefined) return;
  const settings = { ...env, MALLOC_MMAP_THRESHOLD_: String(4 * 1024 * 1024) };
  process.execve(execPath, [execPath, ...argv.slice(2)], settings);
}

function start(): void {
  // As in croft.js: without a listener, SIGUSR1 opens Node's debugger to every account of this machine.
  if (process.platform !== "win32") process.on("SIGUSR1", () => undefined);
  const userId = process.getuid?.();
  let folder: string | undefined;
  try {
    folder = unpackRuntime(runtime, {
      env: process.env,
      words: process.argv.slice(2),
      platform: process.platform,
      homeFolder: findHome(),
      temporaryFolder: tmpdir(),
      userId,
    });
    keepUnpacked(folder, runtime, userId, (look) => setInterval(look, oneMinuteMs).unref());
    process.dlopen = guardAddons(folder, runtime, process.dlopen);
    enableCompileCache(join(folder, "compile-cache"));
    // A script inside an executable can import only Node's own modules, but a module that it requires from a folder can
    // import its neighbours.
    createRequire(join(folder, "/"))("./entry.js");
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const advice = folder === undefined ? "" : `; remove ${folder}, and it is unpacked again`;
    process.stderr.write(`croft cannot start: ${message}${advice}\n`);
    process.exitCode = 1;
  }
}

/** Returns the home folder: HOME when it is absolute, else that of the system's user database; undefined for an unknown user. */
function findHome(): string | undefined {
  try {
    return isAbsolute(homedir()) ? homedir() : userInfo().homedir;
  } catch {
    return undefined;
  }
}
