import { pipeline } from "node:stream/promises";
import { type Git, GitError, type GitProcess } from "./git.ts";

/** A tree of a repository. */
export interface TreeSource {
  readonly directory: string;
  /** The id of the tree. */
  readonly tree: string;
}

/** Time limit of a copy, which reads and writes each object once. */
const COPY_MS = 10 * 60_000;

/**
 * Copies a tree with all its objects into another repository of the same object format; no ref names it. Submodules stay
 * names of commits. @throws GitError
 */
export async function copyTree(
  git: Git,
  { directory, tree }: TreeSource,
  target: string,
): Promise<void> {
  const flags = ["--revs", "--stdout", "--threads=1", "-q"];
  const reader = git.start(["pack-objects", ...flags], { directory });
  try {
    await pipeTree(tree, reader, git.start(["index-pack", "--stdin"], { directory: target }));
  } finally {
    reader.stop();
  }
}

async function pipeTree(tree: string, reader: GitProcess, writer: GitProcess): Promise<void> {
  const timer = setTimeout(() => {
    reader.stop();
    writer.stop();
  }, COPY_MS);
  try {
    // Its only output is the name of the pack.
    writer.stdout.resume();
    reader.stdin.on("error", () => reader.stop());
    reader.stdin.end(`${tree}\n`);
    // index-pack ends at the trailer of the pack, which may be before its input is closed. Otherwise the ends tell the failure.
    await pipeline(reader.stdout, writer.stdin).catch(() => undefined);
    const [read, written] = await Promise.all([reader.ended, writer.ended]);
    // It has verified the whole pack.
    if (written.exitCode !== 0)
      throw new GitError(
        "failed",
        `git pack-objects and index-pack failed: ${[read.stderr, written.stderr].join(" ").trim()}`,
      );
  } finally {
    clearTimeout(timer);
    writer.stop();
  }
}
