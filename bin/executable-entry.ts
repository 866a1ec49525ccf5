import { createRequire, enableCompileCache } from "node:module";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { getRawAsset } from "node:sea";
import type { Runtime } from "./unpack.ts";
import { unpackRuntime } from "./unpack.ts";

// Replaced by the build.
declare const RUNTIME_ID: string;
declare const RUNTIME_FILES: Runtime["files"];

start();

function start(): void {
  const folder = findFolder();
  if (folder === undefined) return;
  enableCompileCache(join(folder, "compile-cache"));
  // A script inside an executable can import nothing but Node's own modules, but what it requires from a folder can import
  // its neighbours.
  createRequire(join(folder, "/"))("./entry.js");
}

function findFolder(): string | undefined {
  try {
    return unpackRuntime(
      { id: RUNTIME_ID, files: RUNTIME_FILES, read: (path) => new Uint8Array(getRawAsset(path)) },
      {
        env: process.env,
        platform: process.platform,
        homeFolder: homedir(),
        temporaryFolder: tmpdir(),
        userId: process.getuid?.(),
      },
    );
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
    return undefined;
  }
}
