import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/**
 * The text that must travel with a bundle: name, version, license and copyright notice of every package that the modules
 * with these paths belong to, each once, in the order of their names.
 */
export async function collectLicenses(modulePaths: readonly string[]): Promise<string> {
  const folders = new Set(modulePaths.flatMap((path) => packageFolder(path) ?? []));
  const notices = await Promise.all([...folders].map(toNotice));
  return [...new Set(notices)].toSorted().join(`\n\n${"-".repeat(80)}\n\n`);
}

/** The folder below the last `node_modules` of the path; a scoped package lies two levels deep. */
function packageFolder(path: string): string | undefined {
  return /^.*[\\/]node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+/.exec(path)?.[0];
}

async function toNotice(folder: string): Promise<string> {
  const manifest: Manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const title = `${manifest.name} ${manifest.version} (${manifest.license ?? "see below"})`;
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && /^(licen[cs]e|copying|notice)/i.test(entry.name))
    .map((entry) => entry.name)
    .toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return [title, ...texts.map((text) => text.trim())].join("\n\n");
}
