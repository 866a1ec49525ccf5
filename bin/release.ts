import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs, promisify } from "node:util";

const help = `npm run release [-- OPTIONS]

Builds croft and writes what a release consists of into dist/release/: npm's package, the executable for this platform, a
package for Debian where dpkg-deb is installed, the list of third-party parts (CycloneDX), their licenses, where the files
come from, and the SHA-256 sums of all.

  --draft  also from a working tree with changes, and of a version that CHANGELOG.md does not describe
`;

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
const output = join(dist, "release");

interface Manifest {
  readonly version: string;
  readonly description: string;
}

/** A part in the list that npm makes; it has more members, which are kept. */
interface Part {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
}

interface PartsList {
  readonly metadata: { readonly component: object };
  readonly components: readonly Part[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      draft: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return;
  }
  const manifest: Manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const commit = await findCommit(values.draft);
  if (!values.draft) await assertDescribed(manifest.version);
  await run("node", ["bin/build.ts", "--if-stale"]);
  await rm(output, { recursive: true, force: true });
  await mkdir(output);
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", output]);
  const name = `croft-${manifest.version}-${process.platform}-${process.arch}`;
  const executable = process.platform === "win32" ? "croft.exe" : "croft";
  await copyFile(
    join(dist, executable),
    join(output, executable === "croft" ? name : `${name}.exe`),
  );
  if (process.platform === "linux") await packForDebian(manifest, join(dist, executable));
  await copyFile(
    join(dist, "third-party-licenses.txt"),
    join(output, `croft-${manifest.version}-licenses.txt`),
  );
  await writeJson(`croft-${manifest.version}-parts.cdx.json`, await listParts(manifest.version));
  await writeJson(`croft-${manifest.version}-provenance.json`, await describeOrigin(commit));
  await writeFile(join(output, "SHA256SUMS"), await sumFiles());
  process.stdout.write(`${(await readdir(output)).map((file) => join(output, file)).join("\n")}\n`);
}

/** @throws Error for a working tree with changes, unless it is a draft */
async function findCommit(isDraft: boolean): Promise<string> {
  const changes = await run("git", ["status", "--porcelain"]);
  if (changes !== "" && !isDraft)
    throw new Error("the working tree has changes; commit them or pass --draft");
  const commit = (await run("git", ["rev-parse", "HEAD"])).trim();
  return changes === "" ? commit : `${commit} with changes`;
}

/** @throws Error when the changelog says nothing about the version */
async function assertDescribed(version: string): Promise<void> {
  const changelog = await readFile(join(root, "CHANGELOG.md"), "utf8");
  if (!changelog.includes(`\n## ${version} (`))
    throw new Error(`CHANGELOG.md has no heading "## ${version} (DATE)"`);
}

/** The parts that are in the bundle; npm's own list has the tools of development, too. */
async function listParts(version: string): Promise<object> {
  const list: PartsList = JSON.parse(
    await run("npm", ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"]),
  );
  const shipped = new Set(
    (await readFile(join(dist, "third-party-licenses.txt"), "utf8"))
      .split("\n")
      .flatMap((line) => /^(\S+) (\d\S*) \(.*\)$/.exec(line)?.slice(1, 3).join("@") ?? []),
  );
  const components = list.components.filter((part) => shipped.has(`${part.name}@${part.version}`));
  const kept = new Set(components.map((part) => part["bom-ref"]));
  return {
    ...list,
    metadata: {
      ...list.metadata,
      component: { ...list.metadata.component, name: "croft", version, type: "application" },
    },
    components,
    dependencies: list.dependencies
      .filter(({ ref }) => kept.has(ref) || ref === `croft@${version}`)
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((to) => kept.has(to)) })),
  };
}

async function describeOrigin(commit: string): Promise<object> {
  const lock = await readFile(join(root, "package-lock.json"));
  return {
    commit,
    committed_at: (await run("git", ["log", "-1", "--format=%cI"])).trim(),
    command: "npm ci && npm run release",
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    package_lock_sha256: createHash("sha256").update(lock).digest("hex"),
  };
}

/** Writes a package with the executable, or says that dpkg-deb is missing. */
async function packForDebian(
  { version, description }: Manifest,
  executable: string,
): Promise<void> {
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const folder = await mkdtemp(join(tmpdir(), "croft-deb-"));
  try {
    for (const path of ["DEBIAN", "usr/bin", "usr/share/doc/croft"])
      await mkdir(join(folder, path), { recursive: true });
    await chmod(folder, 0o755);
    await copyFile(executable, join(folder, "usr/bin/croft"));
    await copyFile(join(root, "LICENSE"), join(folder, "usr/share/doc/croft/copyright"));
    const control = [
      "Package: croft",
      `Version: ${version}`,
      `Architecture: ${architecture}`,
      "Maintainer: the developers of croft <croft@localhost>",
      "Depends: libc6, libatomic1, git, ca-certificates",
      "Section: net",
      "Priority: optional",
      `Description: ${description.replace(/\.$/, "")}`,
    ];
    await writeFile(join(folder, "DEBIAN/control"), `${control.join("\n")}\n`);
    const file = join(output, `croft_${version}_${architecture}.deb`);
    await run("dpkg-deb", ["--root-owner-group", "-Zgzip", "-z6", "--build", folder, file]);
  } catch (error) {
    if (!isMissingProgram(error)) throw error;
    process.stderr.write("dpkg-deb is not installed: there is no package for Debian\n");
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A file that is missing has the same code, but not this call. */
function isMissingProgram(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "spawn dpkg-deb";
}

/** The lines that `sha256sum --check` reads. */
async function sumFiles(): Promise<string> {
  const lines: string[] = [];
  for (const name of (await readdir(output)).toSorted()) {
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(join(output, name))) hash.update(chunk);
    lines.push(`${hash.digest("hex")}  ${basename(name)}\n`);
  }
  return lines.join("");
}

async function writeJson(name: string, value: object): Promise<void> {
  await writeFile(join(output, name), `${JSON.stringify(value, undefined, 2)}\n`);
}

async function run(program: string, words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, words, {
    cwd: root,
    maxBuffer: 64 * 1_024 * 1_024,
  });
  return stdout;
}
