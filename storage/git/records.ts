import { type Git, GitError, type GitRunOptions, toGitFailure } from "./git.ts";

/** How to run a git command whose output is a list. */
export type RecordOptions = Omit<GitRunOptions, "outputBytesMax" | "accept"> & {
  /** Records longer than this are cut, in bytes. Without it, a longer record is an error. */
  readonly cutAt?: number;
};

/** Longest record: a path of at most 4 KiB and a header. */
const RECORD_BYTES_MAX = 64 * 1024;
const TIMEOUT_MS = 60_000;

/**
 * Runs a git command and yields its records, which end with NUL, while it writes them: memory stays bounded for lists
 * of any length. A reader that leaves early stops git. Bytes that are not UTF-8 become replacement characters.
 * @throws GitError
 */
export async function* readRecords(
  git: Git,
  args: readonly string[],
  options: RecordOptions,
): AsyncGenerator<string, void, undefined> {
  const { signal } = options;
  signal?.throwIfAborted();
  const { directory, env = {}, config = {}, input = "" } = options;
  const child = git.launch(args, { directory, env, config, input });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.stop();
  }, options.timeoutMs ?? TIMEOUT_MS);
  signal?.addEventListener("abort", child.stop, { once: true });
  const { cutAt } = options;
  const bytesMax = cutAt ?? RECORD_BYTES_MAX;
  let rest: Buffer = Buffer.alloc(0);
  let isRead = false;
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      const bytes = rest.byteLength === 0 ? chunk : Buffer.concat([rest, chunk]);
      let start = 0;
      for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, start)) {
        yield bytes.toString(
          "utf8",
          start,
          cutAt === undefined ? end : Math.min(end, start + cutAt),
        );
        start = end + 1;
      }
      rest = bytes.subarray(start);
      if (rest.byteLength <= bytesMax) continue;
      if (cutAt === undefined)
        throw new GitError("too_long", `git ${args[0] ?? ""}: too long a record`);
      // Copied, because a part of a chunk would keep all of it.
      rest = Buffer.from(rest.subarray(0, bytesMax));
    }
    isRead = true;
  } finally {
    if (!isRead) child.stop();
    clearTimeout(timer);
    signal?.removeEventListener("abort", child.stop);
  }
  const { exitCode, stderr } = await child.ended;
  signal?.throwIfAborted();
  if (isLate) throw new GitError("too_long", `git ${args[0] ?? ""}: too much time`);
  if (exitCode !== 0) throw toGitFailure(`git ${args[0] ?? ""}`, { exitCode, stderr });
}
