import { type Git, GitError } from "./git.ts";
import { findObjects, type ReadOptions } from "./objects.ts";

const FILE_BYTES_MAX = 256 * 1024;

/**
 * Returns the addresses of the submodules of a commit, by path. Accepts only addresses of http, https, ssh and git, and
 * those relative to the repository, because a file may contain any text, such as a program to run. @throws GitError
 */
export async function readSubmodules(
  git: Git,
  commit: string,
  { directory, signal }: ReadOptions,
): Promise<ReadonlyMap<string, string>> {
  const blob = `${commit}:.gitmodules`;
  const [info] = await findObjects(git, [blob], { directory, signal });
  if (info?.type !== "blob" || info.size > FILE_BYTES_MAX) return new Map();
  const args = ["config", "--blob", info.id, "--no-includes", "--list", "-z"];
  const text = await git.run(args, { directory, signal }).catch((error: unknown) => {
    // A malformed file has no submodules.
    if (error instanceof GitError && /bad config/.test(error.message)) return "";
    throw error;
  });
  const paths = new Map<string, string>();
  const addresses = new Map<string, string>();
  for (const line of text.toString("utf8").split("\0")) {
    const [, name = "", key = "", value = ""] =
      /^submodule\.(.*)\.(path|url)\n(.*)$/s.exec(line) ?? [];
    if (key === "path") paths.set(name, value);
    if (key === "url") addresses.set(name, value);
  }
  const found = new Map<string, string>();
  for (const [name, path] of paths) {
    const address = addresses.get(name);
    if (address !== undefined && isAddress(address)) found.set(path, address);
  }
  return found;
}

function isAddress(text: string): boolean {
  return /^(?:(?:https?|ssh|git):\/\/[^\s]+|\.\.?\/[^\s]*|[\w.-]+@[\w.-]+:[^\s]+)$/.test(text);
}
