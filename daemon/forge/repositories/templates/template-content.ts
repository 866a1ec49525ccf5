import { setImmediate } from "node:timers/promises";
import { findFault } from "../../../../storage/git/check-commit.ts";
import { copyTree } from "../../../../storage/git/copy-tree.ts";
import type { Git } from "../../../../storage/git/git.ts";
import { findObjects, readWholeObjects } from "../../../../storage/git/objects.ts";
import { findEntries, listTree, type TreeEntry } from "../../../../storage/git/trees.ts";
import {
  type DatedPerson,
  type TreeChange,
  writeCommit,
} from "../../../../storage/git/write-commit.ts";
import { AppError } from "../../../errors.ts";
import { cleanNewPath } from "../paths.ts";
import { compileGlob } from "../../../utilities/glob.ts";
import { type Expand, toSafePath } from "./expansion.ts";

/** The file of globs. The files that match are expanded; this file is not copied. */
const RULES = ".gitea/template";
const limits = {
  /** Maximum bytes of the file of globs, and of an expanded file; a larger one is copied without expansion. */
  fileBytes: 1024 * 1024,
  /** Maximum number of globs, and characters of all of them. */
  globs: 50,
  globCharacters: 2_000,
  /** Longest path that is compared with globs. */
  pathCharacters: 1_024,
  /** Maximum number of expanded files, and bytes of all of them, before and after. */
  files: 2_000,
  bytes: 32 * 1024 * 1024,
  /** Maximum number of tree entries that are read. */
  entries: 200_000,
} as const;
/** Characters of globs times those of paths after which other requests are served: some two milliseconds; and in all. */
const WORK_AT_ONCE = 200_000;
const WORK_MAX = 10_000_000_000;

/** Paths that are compared before other requests are served. */
const PATHS_AT_ONCE = 2_000;

/** Systems have no longer paths. */
const EXPANDED_PATH_BYTES_MAX = 4_096;

/** The content of a template, for a new repository. */
export interface TemplateContent {
  readonly git: Git;
  /** The folder of the template's files. */
  readonly directory: string;
  /** The branch that is copied. */
  readonly branch: string;
  readonly expand: Expand;
  readonly author: DatedPerson;
  readonly key: string;
}

/**
 * Writes the first commit of a new repository: the tree of the template's branch, with variables expanded in the files
 * that match `.gitea/template`. Returns false when the branch does not exist. Refuses with `unprocessable` a template
 * with too many files to expand, and one whose expanded paths meet. @throws GitError
 */
export async function writeTemplateCommit(
  content: TemplateContent,
  target: { readonly directory: string; readonly branch: string },
): Promise<boolean> {
  const { git, directory, branch, expand, author, key } = content;
  const [root] = await findObjects(git, [`refs/heads/${branch}^{tree}`], { directory });
  if (root?.type !== "tree") return false;
  await copyTree(git, { directory, tree: root.id }, target.directory);
  const changes = await toChanges(git, directory, root.id, expand);
  const commit = await writeCommit(git, target.directory, {
    parent: undefined,
    tree: root.id,
    author,
    committer: author,
    message: "Initial commit\n",
    changes,
    key,
  });
  const written = changes.filter(({ kind }) => kind === "write").map(({ path }) => path);
  const checked = { commit, from: root.id, paths: written, key };
  const fault = await findFault(git, target.directory, checked);
  if (fault !== undefined)
    throw new AppError("unprocessable", `git refuses a file of the template: ${fault}`);
  await git.run(["update-ref", `refs/heads/${target.branch}`, commit], {
    directory: target.directory,
  });
  return true;
}

async function toChanges(
  git: Git,
  directory: string,
  tree: string,
  expand: Expand,
): Promise<readonly TreeChange[]> {
  const rules = (await findEntries(git, tree, [RULES], { directory })).get(RULES);
  if (rules === undefined || !isRegular(rules) || rules.size > limits.fileBytes) return [];
  const readOptions = { directory, bytesMax: limits.fileBytes };
  const [text] = await readWholeObjects(git, [rules.id], readOptions);
  const globs = toGlobs(new TextDecoder().decode(text));
  const removed: TreeChange[] = [{ kind: "delete", path: RULES }];
  const { matching, others } = await listMatching(git, directory, tree, globs);
  const texts = await readWholeObjects(
    git,
    matching.map(({ id }) => id),
    readOptions,
  );
  const written: TreeChange[] = [];
  const paths = new Map<string, string>();
  let room: number = limits.bytes;
  for (const [index, entry] of matching.entries()) {
    await setImmediate();
    const expanded = await expand(texts[index]?.toString("latin1") ?? "", room);
    if (expanded === undefined) throw tooLarge();
    room -= expanded.length;
    const content = Buffer.from(expanded, "latin1");
    const path = await toPath(entry.path, expand);
    const other = paths.get(path);
    if (other !== undefined) throw becomeOne(other, entry.path, path);
    paths.set(path, entry.path);
    if (path !== entry.path) removed.push({ kind: "delete", path: entry.path });
    written.push({ kind: "write", path, isExecutable: entry.mode === "100755", content });
  }
  if (removed.length > 1) await assertDistinct(paths, others);
  return [...removed, ...written];
}

/**
 * Refuses expanded paths that another file of the template has, or that are a folder of one. Git would keep one of them.
 * @param paths where the expanded files are in the template, by their new paths
 * @param others the paths of the other files
 */
async function assertDistinct(
  paths: ReadonlyMap<string, string>,
  others: readonly string[],
): Promise<void> {
  const files = new Map(paths);
  let steps = 0;
  for (const path of others) {
    steps += 1;
    if (steps % PATHS_AT_ONCE === 0) await setImmediate();
    const expanded = paths.get(path);
    if (expanded !== undefined) throw becomeOne(expanded, path, path);
    files.set(path, path);
  }
  for (const [path, from] of files)
    for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
      steps += 1;
      if (steps % PATHS_AT_ONCE === 0) await setImmediate();
      const file = files.get(path.slice(0, at));
      if (file !== undefined) throw becomeOne(file, from, path.slice(0, at));
    }
}

const becomeOne = (one: string, other: string, path: string) =>
  new AppError(
    "unprocessable",
    `\`${one}\` and \`${other}\` of the template are both \`${path}\` in the new repository: give it another name, or rename one of them in the template`,
  );

const isRegular = ({ type, mode }: TreeEntry) => type === "blob" && mode.startsWith("100");

interface Glob {
  readonly matches: (path: string) => boolean;
  readonly length: number;
}

/** Reads the globs of the file. Skips empty lines, comments and malformed globs. */
function toGlobs(text: string): readonly Glob[] {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  const characters = lines.reduce((sum, line) => sum + line.length, 0);
  if (lines.length > limits.globs || characters > limits.globCharacters)
    throw new AppError(
      "unprocessable",
      `${RULES} of the template has more than ${limits.globs} globs or ${limits.globCharacters} characters`,
    );
  return lines.flatMap((line) => {
    const matches = compileGlob(line, { isOfPaths: true });
    return matches === undefined ? [] : [{ matches, length: line.length }];
  });
}

async function listMatching(
  git: Git,
  directory: string,
  tree: string,
  globs: readonly Glob[],
): Promise<{ readonly matching: readonly TreeEntry[]; readonly others: readonly string[] }> {
  const matching: TreeEntry[] = [];
  const others: string[] = [];
  if (globs.length === 0) return { matching, others };
  let bytes = 0;
  let entryCount = 0;
  const globCharacters = globs.reduce((sum, { length }) => sum + length, 0);
  let work = 0;
  let workBefore = 0;
  for await (const entry of listTree(git, tree, { directory, isRecursive: true })) {
    entryCount += 1;
    if (entryCount > limits.entries) throw tooLarge();
    // A path without globs, or with short ones, costs at least a little.
    work += 1_000 + globCharacters * entry.path.length;
    if (work > WORK_MAX) throw tooLarge();
    if (work - workBefore > WORK_AT_ONCE) {
      workBefore = work;
      await setImmediate();
    }
    if (entry.type === "tree" || entry.path === RULES) continue;
    if (
      !isRegular(entry) ||
      entry.size > limits.fileBytes ||
      entry.path.length > limits.pathCharacters ||
      !globs.some(({ matches }) => matches(entry.path))
    ) {
      others.push(entry.path);
      continue;
    }
    bytes += entry.size;
    matching.push(entry);
    // The limit of the reader includes the headers of objects.
    if (matching.length > limits.files || bytes > limits.bytes - limits.files * 200)
      throw tooLarge();
  }
  return { matching, others };
}

const tooLarge = () =>
  new AppError(
    "unprocessable",
    `the template expands more than ${limits.files} files or ${limits.bytes} bytes`,
  );

/** Expands the variables in a path. Returns the original path when the result is invalid. */
async function toPath(path: string, expand: Expand): Promise<string> {
  const bytes = await expand(Buffer.from(path).toString("latin1"), EXPANDED_PATH_BYTES_MAX);
  if (bytes === undefined) return path;
  const expanded = Buffer.from(bytes, "latin1").toString();
  if (expanded === path) return path;
  try {
    return cleanNewPath(toSafePath(expanded));
  } catch (error) {
    if (error instanceof AppError) return path;
    throw error;
  }
}
