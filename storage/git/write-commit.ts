import type { Git } from "./git.ts";
import { type CommitPerson, runFastImport } from "./initial-commit.ts";
import type { ObjectQuarantine } from "./object-quarantine.ts";

/** One change of a tree. */
export type TreeChange =
  /** Writes a file, with new content or that of a blob which exists. */
  | {
      readonly kind: "write";
      readonly path: string;
      readonly isExecutable: boolean;
      readonly content: Buffer | { readonly blobId: string };
    }
  | { readonly kind: "delete"; readonly path: string };

/** The author or committer, with a time. */
export interface DatedPerson extends CommitPerson {
  /** Epoch seconds. */
  readonly seconds: number;
  /** As git writes it, such as `+0130`. */
  readonly zone: string;
}

/** A commit to be written. */
export interface NewCommit {
  /** Undefined for the first commit of a repository. */
  readonly parent: string | undefined;
  /** The tree that the changes begin with, instead of the parent's. */
  readonly tree?: string;
  readonly author: DatedPerson;
  readonly committer: DatedPerson;
  readonly message: string;
  readonly changes: readonly TreeChange[];
  /** A name that no other running call uses. */
  readonly key: string;
  /** Where the objects are written; by default, into the repository. */
  readonly quarantine?: ObjectQuarantine;
}

/**
 * Writes the objects of a commit and returns its id; no ref names it. Only the folders that change are read, however large
 * the tree is. The paths must be clean: relative, without empty parts, `.`, `..`, `.git` and NUL. @throws GitError
 */
export async function writeCommit(
  git: Git,
  directory: string,
  { parent, tree, author, committer, message, changes, key, quarantine }: NewCommit,
): Promise<string> {
  // The ref exists in the stream only: its last command removes the ref before git writes refs.
  const ref = `refs/croft/new-${key}`;
  const parts: Buffer[] = [
    Buffer.from(
      `commit ${ref}\nmark :1\nauthor ${toIdentity(author)}\ncommitter ${toIdentity(committer)}\n`,
    ),
    toData(Buffer.from(message)),
    Buffer.from(parent === undefined ? "" : `from ${parent}\n`),
    Buffer.from(tree === undefined ? "" : `M 040000 ${tree} ""\n`),
  ];
  for (const change of changes) {
    if (change.kind === "delete") {
      parts.push(Buffer.from(`D ${quote(change.path)}\n`));
      continue;
    }
    const mode = change.isExecutable ? "100755" : "100644";
    const { content } = change;
    if (Buffer.isBuffer(content))
      parts.push(Buffer.from(`M ${mode} inline ${quote(change.path)}\n`), toData(content));
    else parts.push(Buffer.from(`M ${mode} ${content.blobId} ${quote(change.path)}\n`));
  }
  const nothing = "0".repeat((parent ?? tree)?.length ?? 40);
  parts.push(Buffer.from(`\nget-mark :1\nreset ${ref}\nfrom ${nothing}\n\ndone\n`));
  const output = await runFastImport(git, ["--date-format=raw"], {
    directory,
    input: Buffer.concat(parts),
    env: quarantine?.env ?? {},
  });
  return output.toString("latin1").trim();
}

function toIdentity({ name, email, seconds, zone }: DatedPerson): string {
  return `${name} <${email}> ${seconds} ${zone}`;
}

function toData(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`data ${bytes.byteLength}\n`), bytes, Buffer.from("\n")]);
}

/** Quotes a path, so that no character of it ends the command. */
function quote(path: string): string {
  const escaped = path.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  return `"${escaped}"`;
}
