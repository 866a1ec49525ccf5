import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { type Git, GitError, type GitProcess, toGitFailure } from "./git.ts";

/** Blobs of one run of git. */
const BLOBS_AT_ONCE = 500;

/**
 * Yields the contents of all files of at most `bytesMax` bytes that the refs of a repository reach, each blob once, in no
 * order. Runs until `signal` is aborted. @throws GitError
 * @param options.commits the ids of commits that are read instead of the refs, or options of `git rev-list` that name some
 * @param options.without the ids of commits that are left out with their histories; missing ones do not matter
 */
export async function* readSmallBlobs(
  git: Git,
  {
    directory,
    bytesMax,
    signal,
    commits = ["--all"],
    without = [],
  }: {
    readonly directory: string;
    readonly bytesMax: number;
    readonly signal: AbortSignal;
    readonly commits?: readonly string[];
    readonly without?: readonly string[];
  },
): AsyncGenerator<Buffer, void, undefined> {
  signal.throwIfAborted();
  const limit = `--filter=blob:limit=${bytesMax + 1}`;
  // Also skips refs whose commits are missing, so it is not for those who delete what no ref names.
  const how = without.length === 0 ? [] : ["--ignore-missing", "--stdin"];
  const lister = git.start(
    ["rev-list", "--objects", "--no-object-names", limit, ...how, ...commits],
    { directory },
  );
  const checker = git.start(["cat-file", "--batch-check", "--buffer"], { directory });
  const stop = () => {
    lister.stop();
    checker.stop();
  };
  signal.addEventListener("abort", stop, { once: true });
  // A git that ends early closes its input; its exit status tells why.
  for (const { stdin } of [lister, checker]) stdin.on("error", () => undefined);
  lister.stdin.end(without.map((id) => `^${id}\n`).join(""));
  lister.stdout.pipe(checker.stdin);
  let isRead = false;
  try {
    let ids: string[] = [];
    for await (const line of toLines(checker.stdout)) {
      const [id = "", type, size] = line.split(" ");
      if (type !== "blob" || Number(size) > bytesMax) continue;
      ids.push(id);
      if (ids.length < BLOBS_AT_ONCE) continue;
      yield* readBlobs(git, { directory, ids, bytesMax, signal });
      ids = [];
    }
    if (ids.length > 0) yield* readBlobs(git, { directory, ids, bytesMax, signal });
    isRead = true;
  } finally {
    if (!isRead) stop();
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
  for (const child of [lister, checker]) await assertSucceeded(child);
}

async function* readBlobs(
  git: Git,
  {
    directory,
    ids,
    bytesMax,
    signal,
  }: {
    readonly directory: string;
    readonly ids: readonly string[];
    readonly bytesMax: number;
    readonly signal: AbortSignal;
  },
): AsyncGenerator<Buffer, void, undefined> {
  const output = await git.run(["cat-file", "--batch"], {
    directory,
    signal,
    input: `${ids.join("\n")}\n`,
    outputBytesMax: ids.length * (bytesMax + 256),
  });
  for (let at = 0; at < output.byteLength;) {
    const end = output.indexOf(10, at);
    const [, type, size] = output.toString("latin1", at, end).split(" ");
    if (end === -1 || type !== "blob") throw new GitError("failed", "git cat-file: no blob");
    const start = end + 1;
    at = start + Number(size) + 1;
    yield output.subarray(start, at - 1);
  }
}

function toLines(stream: Readable): AsyncIterable<string> {
  return createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
}

async function assertSucceeded(child: GitProcess): Promise<void> {
  const { exitCode, stderr } = await child.ended;
  if (exitCode !== 0) throw toGitFailure("git", { exitCode, stderr });
}
