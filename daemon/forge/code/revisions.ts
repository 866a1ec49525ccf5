import { readTip } from "../../../storage/git/ref-files.ts";
import type { ObjectSession } from "../../../storage/git/object-session.ts";
import { findObjects } from "../../../storage/git/objects.ts";
import { AppError } from "../../errors.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import { notFound } from "../refusals.ts";
import type { OpenedCode } from "./open-code.ts";

/** A branch, tag or commit as a request names it. */
export interface Revision {
  readonly kind: "branch" | "tag" | "commit";
  /** The name of the branch or tag; the whole id of the commit. */
  readonly name: string;
  readonly commitId: string;
}

/** Shortest abbreviation of a commit id. */
const ABBREVIATION_MIN = 4;

/**
 * Resolves a name: a whole commit id, else a branch, else a tag, else an abbreviated commit id. `refs/heads/…` and
 * `refs/tags/…` name one kind; an empty name and `HEAD` are the default branch. It does not resolve git expressions
 * such as `main~1`; `getCommitId` resolves some.
 */
export async function findRevision(
  code: OpenedCode,
  requestedName: string,
  find: ObjectSession["find"] = findIn(code),
): Promise<Revision | undefined> {
  const candidates = toCandidates(
    requestedName === "" || requestedName === "HEAD" ? "" : requestedName,
    code.owned.repository.defaultBranch,
  );
  const [first] = candidates;
  if (first === undefined) return undefined;
  const tip = readTip(code.directory, first.expression);
  if (tip !== undefined) return { kind: first.kind, name: first.name, commitId: tip };
  const found = await find(candidates.map(({ expression }) => `${expression}^{commit}`));
  const index = found.findIndex((each) => each !== undefined);
  const candidate = candidates[index];
  const commitId = found[index]?.id;
  if (candidate === undefined || commitId === undefined) return undefined;
  const { kind, name } = candidate;
  return { kind, name: kind === "commit" ? commitId : name, commitId };
}

/** Looks objects up with a new git process. */
function findIn({ git, directory, signal }: OpenedCode): ObjectSession["find"] {
  return (names) => findObjects(git, names, { directory, signal });
}

/** Finds a revision as `findRevision` does. Refuses with `not_found`. */
export async function getRevision(
  code: OpenedCode,
  requestedName: string,
  find?: ObjectSession["find"],
): Promise<Revision> {
  const found = await findRevision(code, requestedName, find);
  if (found === undefined)
    throw requestedName === ""
      ? notFound()
      : new AppError("not_found", `object does not exist [id: ${requestedName}, rel_path: ]`);
  return found;
}

/** Maximum number of segments of a branch name that is searched at the start of a path. */
const PATH_PARTS_MAX = 8;

/**
 * Finds a revision at the beginning of a path, where old clients write it: a branch, else a tag, else a commit id; of
 * each kind the shortest name. Returns it with the rest of the path.
 */
export async function findRevisionInPath(
  { git, directory, signal }: OpenedCode,
  path: string,
): Promise<{ readonly revision: Revision; readonly path: string } | undefined> {
  const parts = path.split("/");
  const names = parts.slice(0, Math.min(parts.length - 1, PATH_PARTS_MAX)).map((_, index) => ({
    name: parts.slice(0, index + 1).join("/"),
    rest: parts.slice(index + 1).join("/"),
  }));
  const usable = names.filter(({ name }) => isRefName(name));
  const candidates = [
    ...usable.map((each) => ({
      ...each,
      kind: "branch" as const,
      expression: `refs/heads/${each.name}`,
    })),
    ...usable.map((each) => ({
      ...each,
      kind: "tag" as const,
      expression: `refs/tags/${each.name}`,
    })),
    ...usable
      .filter(({ name }) => /^[0-9a-f]{7,64}$/i.test(name))
      .map((each) => ({ ...each, kind: "commit" as const, expression: each.name })),
  ];
  if (candidates.length === 0) return undefined;
  const found = await findObjects(
    git,
    candidates.map(({ expression }) => `${expression}^{commit}`),
    { directory, signal },
  );
  const index = found.findIndex((each) => each !== undefined);
  const candidate = candidates[index];
  const commitId = found[index]?.id;
  if (candidate === undefined || commitId === undefined) return undefined;
  const { kind, name, rest } = candidate;
  const revision = { kind, name: kind === "commit" ? commitId : name, commitId };
  return { revision, path: rest };
}

/** Steps to ancestors at the end of a revision: `^`, `~3`, `^^~2`. The names of refs contain neither. */
const ANCESTOR_STEPS = /^(.+?)((?:\^|~\d{0,6}){1,32})$/s;

/**
 * Returns the id of the commit that a name resolves to as in `getRevision`, or of an ancestor: `main~2`, `v1^`. Refuses
 * with `not_found`, also when the history is shorter.
 */
export async function getCommitId(
  code: OpenedCode,
  requestedName: string,
  find: ObjectSession["find"] = findIn(code),
): Promise<string> {
  const [, name, steps] = ANCESTOR_STEPS.exec(requestedName) ?? [];
  if (name === undefined || steps === undefined)
    return (await getRevision(code, requestedName, find)).commitId;
  const { commitId } = await getRevision(code, name, find);
  const [found] = await find([`${commitId}${steps}`]);
  if (found === undefined)
    throw new AppError("not_found", `object does not exist [id: ${requestedName}, rel_path: ]`);
  return found.id;
}

function toCandidates(requestedName: string, defaultBranch: string) {
  const branch = (name: string) =>
    ({ kind: "branch", name, expression: `refs/heads/${name}` }) as const;
  const tag = (name: string) => ({ kind: "tag", name, expression: `refs/tags/${name}` }) as const;
  const commit = (name: string) => ({ kind: "commit", name, expression: name }) as const;
  if (requestedName === "") return [branch(defaultBranch)];
  const isId =
    /^[0-9a-f]+$/i.test(requestedName) &&
    requestedName.length >= ABBREVIATION_MIN &&
    requestedName.length <= 64;
  const isWholeId = isId && (requestedName.length === 40 || requestedName.length === 64);
  if (!isRefName(requestedName)) return [];
  if (requestedName.startsWith("refs/heads/")) return [branch(requestedName.slice(11))];
  if (requestedName.startsWith("refs/tags/")) return [tag(requestedName.slice(10))];
  // A caller that pins a commit by its full id must not get a branch of the same name.
  if (isWholeId) return [commit(requestedName), branch(requestedName), tag(requestedName)];
  return [branch(requestedName), tag(requestedName), ...(isId ? [commit(requestedName)] : [])];
}
