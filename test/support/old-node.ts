import { execFileSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * The path of a Node on the PATH that is older than 22.19, undefined without one. Those inside a node_modules folder do
 * not count: they are development dependencies, not installed on the machine.
 */
export function findOldNode(): string | undefined {
  const candidates = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "node"))
    .filter((path) => existsSync(path) && !realpathSync(path).includes("node_modules"));
  return candidates.find(isOld);
}

function isOld(path: string): boolean {
  const [major = 0, minor = 0] = execFileSync(path, ["-p", "process.versions.node"], {
    encoding: "utf8",
  })
    .split(".")
    .map(Number);
  return major < 22 || (major === 22 && minor < 19);
}
