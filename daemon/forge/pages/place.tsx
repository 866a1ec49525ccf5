import { commitEndpoints } from "../../contract/forge/code/commits.ts";
import { contentsEndpoints, type WireContentsExt } from "../../contract/forge/code/contents.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import { AppError } from "../../errors.ts";
import { notFound } from "../refusals.ts";
import { toFolderPath, toPath } from "../../pages/page.ts";
import { type ForgePageContext, type RepositoryParams } from "./forge-page.ts";

/** Maximum number of segments of a branch name that is searched in an address. */
const REF_SEGMENTS_MAX = 8;

/** The parameters of an address that names a place. */
export type PlaceParams = RepositoryParams & { readonly kind: string; readonly rest: string };

/** A place in a repository: a branch, a tag or a commit, and a path below it. */
export interface Place {
  readonly kind: string;
  readonly ref: string;
  readonly path: string;
}

/**
 * Splits the rest of an address after the branch or tag at its beginning; refs cannot contain each other. Does not look
 * up a single segment, because the reading operation refuses a missing ref.
 */
export async function findPlace(context: ForgePageContext, params: PlaceParams): Promise<Place> {
  const { kind, rest } = params;
  const segments = rest.split("/").filter((segment) => segment !== "");
  const [first] = segments;
  if (!["branch", "tag", "commit"].includes(kind) || first === undefined) throw notFound();
  if (segments.length === 1) {
    // `main~1` is not a branch, although the list of commits accepts it.
    if (!isRefName(toRef({ kind, ref: first }))) throw notFound();
    return { kind, ref: first, path: "" };
  }
  const longest = kind === "commit" ? 1 : Math.min(segments.length, REF_SEGMENTS_MAX);
  for (let length = 1; length <= longest; length += 1) {
    const ref = segments.slice(0, length).join("/");
    if (await hasRef(context, params, { kind, ref }))
      return { kind, ref, path: segments.slice(length).join("/") };
  }
  throw notFound();
}

async function hasRef(
  { call }: ForgePageContext,
  params: RepositoryParams,
  place: Pick<Place, "kind" | "ref">,
): Promise<boolean> {
  const { owner, repo } = params;
  const query = { stat: "false", files: "false", verification: "false" };
  try {
    await call(commitEndpoints.getCommit, { params: { owner, repo, sha: toRef(place) }, query });
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Returns the ref of a place for operations. A full ref name distinguishes a tag from a branch of the same name. */
export function toRef({ kind, ref }: Pick<Place, "kind" | "ref">): string {
  if (kind === "branch") return `refs/heads/${ref}`;
  return kind === "tag" ? `refs/tags/${ref}` : ref;
}

/** Whether an operation refused because a ref or path does not exist. */
export const isMissing = (error: unknown) =>
  error instanceof AppError &&
  ["not_found", "invalid_argument", "unprocessable"].includes(error.code);

/** Returns the file or folder at a place, with the parts that `includes` names. */
export async function readPlace(
  { call }: ForgePageContext,
  { owner, repo }: RepositoryParams,
  place: Place,
  includes = "",
): Promise<WireContentsExt> {
  const query = { ref: toRef(place), includes };
  if (place.path === "")
    return (await call(contentsEndpoints.getRootContentsExt, { params: { owner, repo }, query }))
      .body;
  const params = { owner, repo, filepath: place.path };
  return (await call(contentsEndpoints.getContentsExt, { params, query })).body;
}

/** Returns the path of an entry of the folder at a place. */
export const toChildPath = ({ path }: Place, name: string) =>
  path === "" ? name : `${path}/${name}`;

/** Pages about a place, and the bytes of its file. */
export type PlaceForm = "src" | "raw" | "media" | "commits" | "blame" | "find" | "rss" | "atom";

/** The address of a page about a place, or of the bytes of its file. */
export function toSourcePath(
  { owner, name }: WireRepository,
  { kind, ref, path }: Place,
  form: PlaceForm = "src",
): string {
  const below = path === "" ? "" : `/${toFolderPath(path)}`;
  return `${toPath(owner.login, name)}/${form}/${kind}/${toFolderPath(ref)}${below}`;
}

/** Changes of a file of a branch. */
export type FileForm = "_edit" | "_new" | "_upload" | "_delete";

/** The address of a form that changes a file, or adds one to a folder, of a branch. */
export function toFormPath(
  { owner, name }: WireRepository,
  { ref, path }: Pick<Place, "ref" | "path">,
  form: FileForm,
): string {
  const below = path === "" ? "" : `/${toFolderPath(path)}`;
  return `${toPath(owner.login, name)}/${form}/${toFolderPath(ref)}${below}`;
}

/** Finds the place of an address without its kind, which is on a branch. */
export function findBranchPlace(
  context: ForgePageContext,
  params: RepositoryParams & { readonly rest: string },
): Promise<Place> {
  return findPlace(context, { ...params, kind: "branch" });
}

/** The name of a place for people: an id of a commit is shortened. */
export const toRefName = ({ kind, ref }: Pick<Place, "kind" | "ref">) =>
  kind === "commit" ? ref.slice(0, 10) : ref;

/** The segments of a path that are links, each of which has the whole path to it. */
const CRUMBS_MAX = 50;

/** The folders above a place as links, from the top one; the last segment is the place itself. Of many, the last ones. */
export function Crumbs({
  repository,
  place,
  form = "src",
}: {
  repository: WireRepository;
  place: Place;
  form?: PlaceForm;
}) {
  const segments = place.path.split("/").filter((segment) => segment !== "");
  const first = Math.max(0, segments.length - CRUMBS_MAX);
  return (
    <p className="crumbs">
      <a href={toSourcePath(repository, { ...place, path: "" }, form)}>{repository.name}</a>
      {first === 0 ? null : " / …"}
      {segments.slice(first).map((segment, index) => {
        const at = first + index;
        const path = segments.slice(0, at + 1).join("/");
        return (
          <span key={path}>
            {" / "}
            <a
              href={toSourcePath(
                repository,
                { ...place, path },
                at === segments.length - 1 ? "src" : form,
              )}
            >
              <bdi>{segment}</bdi>
            </a>
          </span>
        );
      })}
    </p>
  );
}
