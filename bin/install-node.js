// npm runs this after it has installed croft. Where the machine's Node is too old for croft, it installs the right one beside
// croft, with the npm that runs it; otherwise it does nothing. Plain JavaScript, because it runs on that old Node.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const place = join(root, "bin", "node");
const packages = Object.keys(readManifest(place).optionalDependencies);

if (isTooOld() && !isInstalled(join(root, "node_modules"))) install();

function isTooOld() {
  const [oldestMajor, oldestMinor] = readManifest(root).engines.node.match(/\d+/g).map(Number);
  const [major, minor] = process.versions.node.split(".").map(Number);
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}

/** A clone has it from its own package-lock.json. */
function isInstalled(folder) {
  return packages.some((name) => existsSync(join(folder, name)));
}

function install() {
  const words = ["install", "--no-workspaces", "--prefix", place, "--no-package-lock"];
  // npm says where it is, so that the same one is used; as an install of the whole machine it would ignore the prefix.
  const npm = process.env.npm_execpath;
  const command = npm?.endsWith(".js") ? [process.execPath, npm] : ["npm"];
  const env = { ...process.env, npm_config_global: "", npm_config_location: "project" };
  const [program, ...first] = command;
  const { status } = spawnSync(program, [...first, ...words], { stdio: "inherit", env });
  if (status !== 0 || !isInstalled(join(place, "node_modules"))) {
    // The launcher says what to do at the first start; an install that fails here would take croft away as a whole.
    process.stderr.write(`croft needs a newer Node, and npm could not install it into ${place}\n`);
    return;
  }
  // Headers and manual pages, a third of the package.
  for (const name of packages) {
    for (const part of ["include", "share"])
      rmSync(join(place, "node_modules", name, part), { recursive: true, force: true });
  }
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}
