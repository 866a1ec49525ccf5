import { setImmediate } from "node:timers/promises";
import { checkedFetchConfig, type Git } from "./git.ts";

/** How git reaches a remote. */
export interface RemoteAccess {
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, string>>;
}

/** Where a run of git works, and its limits. */
export interface RemoteRun {
  readonly directory: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The refs of a remote as it names them. */
export interface RemoteRefs {
  /** The full name of the branch that HEAD names; undefined when HEAD is missing or names a commit. */
  readonly head: string | undefined;
  /** Ids of objects by the names of refs, which are `latin1` and not checked. */
  readonly refs: ReadonlyMap<string, string>;
}

const LISTING_BYTES_MAX = 64 * 1024 * 1024;
/** Lines of a listing that are read before other work of the process has its turn: there may be a million. */
const LINES_AT_ONCE = 1_000;

/** Lists HEAD and the refs that match the patterns of `git ls-remote`. @throws GitError */
export async function listRemoteRefs(
  git: Git,
  { url, env, config }: RemoteAccess,
  patterns: readonly string[],
  run: RemoteRun,
): Promise<RemoteRefs> {
  const listed = await git.run(["ls-remote", "--symref", "--quiet", url, "HEAD", ...patterns], {
    ...run,
    // No repository has to be there.
    env: { ...env, GIT_DIR: "/nonexistent" },
    config,
    outputBytesMax: LISTING_BYTES_MAX,
  });
  let head: string | undefined;
  const refs = new Map<string, string>();
  const text = listed.toString("latin1");
  let lines = 0;
  for (let start = 0, end = 0; start < text.length; start = end + 1) {
    end = text.indexOf("\n", start);
    if (end === -1) end = text.length;
    lines += 1;
    if (lines % LINES_AT_ONCE === 0) {
      await setImmediate();
      run.signal.throwIfAborted();
    }
    const line = text.slice(start, end);
    // A name may have a tab, which no valid one has.
    const tab = line.indexOf("\t");
    const [left, name] = [line.slice(0, tab), line.slice(tab + 1)];
    if (name === "HEAD" && left.startsWith("ref: ")) head = left.slice("ref: ".length);
    else if (/^[0-9a-f]{40,64}$/.test(left)) refs.set(name, left);
  }
  return { head, refs };
}

/**
 * Fetches objects with their histories, as far as they are missing. No ref names them afterwards. Objects that a push may not
 * have are refused. `env` may name a quarantine. @throws GitError
 */
export async function fetchObjects(
  git: Git,
  { url, env, config }: RemoteAccess,
  ids: Iterable<string>,
  { quarantine = {}, ...run }: RemoteRun & { readonly quarantine?: RemoteAccess["env"] },
): Promise<void> {
  const wanted = [...new Set(ids)];
  if (wanted.length === 0) return;
  await git.run(
    [
      "fetch",
      "--quiet",
      "--no-tags",
      "--no-write-fetch-head",
      "--no-recurse-submodules",
      "--stdin",
      url,
    ],
    {
      ...run,
      input: `${wanted.join("\n")}\n`,
      env: { ...env, ...quarantine },
      config: { ...config, ...checkedFetchConfig },
    },
  );
}

/**
 * Makes the branches and tags of a remote equal to those of a repository; others are deleted. `first` is a branch that is
 * pushed before the others, so that an empty remote takes it as its default branch. @throws GitError
 */
export async function pushAll(
  git: Git,
  { url, env, config }: RemoteAccess,
  first: string | undefined,
  run: RemoteRun,
): Promise<void> {
  const push = (...more: readonly string[]) => {
    const args = ["push", "--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"];
    return git.run([...args, ...more], { ...run, env, config });
  };
  if (first !== undefined) await push(url, `+refs/heads/${first}:refs/heads/${first}`);
  await push("--prune", url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*");
}
