import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Git } from "../../../storage/git/git.ts";
import { WIKI_FOLDER } from "../../../storage/git/refs.ts";
import type { GitRemote } from "../../outbound/git-gateway.ts";
import { type Remotes, RemoteUnusable, type TakenRefs } from "./remotes.ts";

/**
 * Imports the wiki beside a repository into the folder of a new one: services keep it at `NAME.wiki.git`. A repository without
 * a wiki, or with one that the caller may not read, gets none. @throws RemoteUnusable when the server does not say whether
 * there is one, and when the wiki does not arrive whole
 */
export async function importWiki(
  { git, remotes }: { readonly git: Git; readonly remotes: Remotes },
  { url, ...credentials }: GitRemote,
  directory: string,
  signal: AbortSignal,
): Promise<void> {
  const remote = { url: `${url.replace(/\.git$/, "")}.wiki.git`, ...credentials };
  const taken = await findWiki(remotes, remote, signal);
  if (taken === undefined) return;
  const folder = join(directory, WIKI_FOLDER);
  await mkdir(folder, { mode: 0o700 });
  const branch = taken.head ?? "main";
  await git.run(
    [
      "init",
      "--bare",
      "--quiet",
      "--template=",
      `--object-format=${taken.objectFormat}`,
      `--initial-branch=${branch}`,
    ],
    { directory: folder },
  );
  const branches = new Map([...taken.refs].filter(([name]) => name.startsWith("refs/heads/")));
  await remotes.copy(remote, branches, { directory: folder, signal });
}

async function findWiki(
  remotes: Remotes,
  remote: GitRemote,
  signal: AbortSignal,
): Promise<TakenRefs | undefined> {
  try {
    const taken = await remotes.list(remote, { hasPulls: false }, signal);
    return [...taken.refs.keys()].some((ref) => ref.startsWith("refs/heads/")) ? taken : undefined;
  } catch (error) {
    if (error instanceof RemoteUnusable && error.isMissing) return undefined;
    throw error;
  }
}
