import type { Git } from "./git.ts";

/** Who stands in a commit. */
export interface CommitPerson {
  readonly name: string;
  readonly email: string;
}

/** The one commit that a new repository may begin with. */
export interface InitialCommit {
  readonly branch: string;
  readonly message: string;
  readonly author: CommitPerson;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Files at the top, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/** Writes a commit without parents and the branch that names it. @throws GitError */
export async function writeInitialCommit(
  git: Git,
  directory: string,
  commit: InitialCommit,
): Promise<void> {
  await git.run(["fast-import", "--quiet", "--done"], { directory, input: toStream(commit) });
}

/** The commit in the language of `git fast-import`: text is preceded by its length, so nothing in it is a command. */
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

/** A name or address without what git reads as structure. */
function toIdentity(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what must go
  return text.replace(/[<>\u0000-\u001f\u007f]/g, "").trim();
}
