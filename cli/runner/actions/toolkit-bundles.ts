import { readFile, realpath, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isWithin } from "../places/host-place.ts";

/** Larger files are not bundles of an action. */
const BUNDLE_BYTES_MAX = 64 * 1024 * 1024;
/** Only the artifact client has this error, and throws it for servers that it takes for GitHub Enterprise. */
const REFUSAL = "GHESNotSupportedError";
/**
 * The last of the three tests of the server's host that the artifact client makes. It is in capitals nowhere else: HTTP
 * clients in the same bundles test for `.localhost`.
 */
const HOST_TEST = /(\.endsWith\(\s*)(?:'\.LOCALHOST'|"\.LOCALHOST"|`\.LOCALHOST`)(\s*\))/g;

/**
 * Lets the artifact client in the scripts of a fetched action accept this forge: without a change it works with hosts of
 * GitHub alone. A script without that client stays as it is, and so does one outside of `root`.
 */
export async function acceptForge(root: string, scripts: readonly string[]): Promise<void> {
  const folder = await realpath(root);
  for (const script of scripts) {
    const path = await realpath(join(root, script)).catch(() => undefined);
    // Node reports a script that is missing.
    if (path === undefined || !isWithin(folder, path)) continue;
    if ((await stat(path)).size > BUNDLE_BYTES_MAX) continue;
    const text = await readFile(path, "utf8");
    if (!text.includes(REFUSAL) || text.search(HOST_TEST) === -1) continue;
    // Every host ends in an empty text.
    await writeFile(path, text.replaceAll(HOST_TEST, '$1""$2'));
  }
}
