import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, toNamespacedPath } from "node:path";
import { markUnpacked } from "./unpack.ts";
import type { Runtime } from "./unpack.ts";

type LoadAddon = typeof process.dlopen;

/**
 * Returns a replacement for `process.dlopen` of an executable whose files are unpacked in `folder`. It loads only addons that
 * the executable contains, and restores one that was changed on disk first. Throws when it cannot be restored, when the file
 * is not an addon of the executable, and as `load` does.
 */
export function guardAddons(folder: string, runtime: Runtime, load: LoadAddon): LoadAddon {
  return (module, file, ...flags) => {
    const found = runtime.files.find(([path]) => toNamespacedPath(join(folder, path)) === file);
    if (found === undefined) throw new Error(`${file} is not one of croft's own addons`);
    const bytes = runtime.read(found[0]);
    if (!readFileSync(file).equals(bytes)) putBack(file, bytes);
    try {
      Reflect.apply(load, process, [module, file, ...flags]);
    } catch (error) {
      throw withAdvice(error);
    }
  };
}

/** By a rename, so that a process that has the file loaded keeps the one it has. */
function putBack(file: string, bytes: Uint8Array): void {
  const fresh = `${file}.${process.pid}`;
  try {
    writeFileSync(fresh, bytes, { mode: 0o600, flag: "wx" });
    markUnpacked(fresh);
    renameSync(fresh, file);
  } catch (error) {
    rmSync(fresh, { force: true });
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${file} was changed and cannot be put back (${reason})`, { cause: error });
  }
}

/** Error codes of systems that refuse to load programs from a disk. */
function withAdvice(error: unknown): unknown {
  if (!(error instanceof Error) || !/failed to map segment|not permitted/i.test(error.message))
    return error;
  const advice = "if programs may not run there, set CROFT_CACHE_DIR to a folder where they may";
  return new Error(`${error.message}; ${advice}`, { cause: error });
}
