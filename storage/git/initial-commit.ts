import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Git, GitRunOptions } from "./git.ts";

/** Author and committer of the commit. */
export interface CommitPerson {
  readonly name: string;
  readonly email: string;
}

/** The initial commit of a new repository. */
export interface InitialCommit {
  readonly branch: string;
  readonly message: string;
  readonly author: CommitPerson;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Contents of files in the top folder, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/** Writes a commit without parents and points a branch to it. @throws GitError */
export async function writeInitialCommit(
  git: Git,
  directory: string,
  commit: InitialCommit,
): Promise<void> {
  await runFastImport(git, [], { directory, input: toStream(commit) });
}

/** Runs `git fast-import`. When it fails, deletes its report of the crash from the repository. @throws GitError */
export async function runFastImport(
  git: Git,
  args: readonly string[],
  options: GitRunOptions,
): Promise<Buffer> {
  try {
    return await git.run(["fast-import", "--quiet", "--done", ...args], options);
  } catch (error) {
    const { directory } = options;
    // A folder that is not there has none.
    for (const name of await readdir(directory).catch(() => []))
      if (/^fast_import_crash_\d+$/.test(name)) await rm(join(directory, name), { force: true });
    throw error;
  }
}

/** Formats the commit for `git fast-import`: text is preceded by its length, so it cannot contain a command. */
function toStream({ branch, message, author, at, files }: InitialCommit): Buffer {
  const person = `${toIdentity(author.name)} <${toIdentity(author.email)}> ${Math.floor(at / 1000)} +0000`;
  const parts: Buffer[] = [
    Buffer.from(`commit refs/heads/${branch}\nauthor ${person}\ncommitter ${person}\n`),
    toData(message),
  ];
  for (const [name, content] of Object.entries(files))
    parts.push(Buffer.from(`M 100644 inline ${name}\n`), toData(content));
  return Buffer.concat([...parts, Buffer.from("\ndone\n")]);
}

function toData(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from(`data ${bytes.byteLength}\n`), bytes, Buffer.from("\n")]);
}

/** Removes from a name or address the characters that git reads as structure. */
function toIdentity(text: string): string {
  // oxlint-disable-next-line no-control-regex -- removes control characters
  return text.replace(/[<>\u0000-\u001f\u007f]/g, "").trim();
}
