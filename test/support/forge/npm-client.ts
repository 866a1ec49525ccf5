import { execFile, execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The result of a run of npm. It never throws: tests check failures too. */
export interface NpmRun {
  readonly exitCode: number;
  readonly output: string;
  readonly errors: string;
}

/** The machine's npm with a home, a cache and settings of its own; it asks the given registry only. */
export interface NpmClient extends AsyncDisposable {
  readonly folder: string;
  /** Runs npm in a folder below. */
  run(folder: string, ...args: readonly string[]): Promise<NpmRun>;
  /** Makes a folder with a package in it and returns its name. */
  makePackage(
    manifest: Readonly<Record<string, unknown>>,
    files?: Readonly<Record<string, string | Uint8Array>>,
  ): Promise<string>;
}

/** The version of the machine's npm, or undefined without npm. */
export function findNpm(): string | undefined {
  try {
    return execFileSync("npm", ["--version"], { encoding: "utf8" }).trim();
  } catch {
    // Not installed, or it does not run: the tests that need it say so.
    return undefined;
  }
}

/** Makes one; `await using` removes its folder. */
export async function createNpmClient(
  registry: string,
  credentials: readonly string[],
): Promise<NpmClient> {
  const folder = await mkdtemp(join(tmpdir(), "croft-npm-client-"));
  const nearby = registry.replace(/^https?:/, "");
  const settings = [
    `registry=${registry}`,
    ...credentials.map((line) => `${nearby}:${line}`),
    `cache=${join(folder, ".cache")}`,
    "update-notifier=false",
    "fund=false",
    "fetch-retries=0",
  ];
  await writeFile(join(folder, ".npmrc"), `${settings.join("\n")}\n`);
  let made = 0;
  return {
    folder,
    run: (below, ...args) =>
      new Promise((resolve) => {
        const env = {
          PATH: process.env["PATH"] ?? "",
          HOME: folder,
          npm_config_userconfig: join(folder, ".npmrc"),
          npm_config_globalconfig: join(folder, "none"),
        };
        execFile("npm", args, { cwd: join(folder, below), env }, (error, output, errors) =>
          resolve({ exitCode: error === null ? 0 : Number(error.code ?? 1), output, errors }),
        );
      }),
    async makePackage(manifest, files = {}) {
      made += 1;
      const name = `package-${made}`;
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, "package.json"), JSON.stringify(manifest));
      for (const [file, text] of Object.entries(files))
        await writeFile(join(folder, name, file), text);
      return name;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
