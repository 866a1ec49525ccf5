import { type Git, GitError } from "./git.ts";
import { type ObjectQuarantine, openQuarantine } from "./object-quarantine.ts";

/** A commit that no ref names yet. */
export interface UncheckedCommit {
  readonly commit: string;
  /** The commit or tree that it was made from; undefined for none. */
  readonly from: string | undefined;
  /** The paths that it writes. */
  readonly paths: readonly string[];
  /** A name that no other running call uses. */
  readonly key: string;
  /** Where its objects lie; by default, in the repository. */
  readonly quarantine?: ObjectQuarantine;
}

/** Largest pack of one change, in bytes: more than a request may bring. */
const PACK_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Checks what a commit adds to a repository as a push is checked: a `.gitmodules` that would run a program in a clone, for
 * example, is a fault. Returns git's words for the first one. @throws GitError
 */
export async function findFault(
  git: Git,
  directory: string,
  { commit, from, paths, key, quarantine }: UncheckedCommit,
): Promise<string | undefined> {
  // Git reads the content of `.gitmodules` and `.gitattributes` only; two runs of git for each change are too many.
  if (!paths.some(mayBeRead)) return undefined;
  const pack = await git.run(["pack-objects", "--revs", "--stdout", "-q"], {
    directory,
    input: from === undefined ? `${commit}\n` : `${commit}\n^${from}\n`,
    outputBytesMax: PACK_BYTES_MAX,
    env: quarantine?.env ?? {},
  });
  await using checked = await openQuarantine(directory, `${key}-check`);
  try {
    await git.run(["index-pack", "--stdin", "--strict"], {
      directory,
      input: pack,
      env: checked.env,
    });
    return undefined;
  } catch (error) {
    const fault =
      error instanceof GitError && error.code === "failed"
        ? /error: object [0-9a-f]+: (.+)/.exec(error.message)?.[1]
        : undefined;
    if (fault === undefined) throw error;
    return fault;
  }
}

/** File systems read other spellings of these names: in capitals, short (`gitmod~1`, `gi7eba~1`), with ignored characters. */
function mayBeRead(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return /gi/i.test(name.replace(/[^ -~]/g, ""));
}
