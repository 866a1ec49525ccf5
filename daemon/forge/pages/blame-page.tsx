import { browsingEndpoints } from "../../contract/forge/code/browsing.ts";
import { AppError } from "../../errors.ts";
import { notFound } from "../refusals.ts";
import { decodeIfText } from "../../utilities/text-encoding.ts";
import { EmptyState, Pager, Time } from "../../pages/elements.tsx";
import { get, toPageNumber, toPath } from "../../pages/page.ts";
import type { ForgePageContext, ForgePageRoute } from "./forge-page.ts";
import { Crumbs, findPlace, type PlaceParams, readPlace, toRef, toSourcePath } from "./place.tsx";
import { loadRefs, RefMenu } from "./ref-menu.tsx";
import { loadHead, RepositoryHead } from "./repository-head.tsx";
import { FILE_BYTES_MAX, readBytes } from "./source-text.ts";

/** Lines on one page. */
const LIMIT = 1_000;

/** The page with the commit that wrote each line of a file. */
export const blamePage: ForgePageRoute = get("/:owner/:repo/blame/:kind/**:rest", showBlame);

async function showBlame(context: ForgePageContext, params: PlaceParams) {
  const repository = await loadHead(context, params);
  const place = await findPlace(context, params);
  const { file_contents: entry } = await readPlace(context, params, place);
  if (entry?.type !== "file") throw notFound();
  const [lines, blame, refs] = await Promise.all([
    readLines(context, params, entry),
    loadBlame(context, params, { path: place.path, ref: toRef(place) }),
    loadRefs(context, params),
  ]);
  const page = toPageNumber(context.request);
  return {
    kind: "page",
    title: `Blame of ${place.path} in ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <div className="bar">
          <RefMenu repository={repository} refs={refs} place={place} form="blame" />
          <Crumbs repository={repository} place={place} />
          <p className="tools">
            <a href={toSourcePath(repository, place)}>File</a>
            <a href={toSourcePath(repository, place, "commits")}>History</a>
          </p>
        </div>
        {lines === undefined || typeof blame === "string" ? (
          <EmptyState>
            {typeof blame === "string"
              ? blame
              : "Only texts of at most 512 KiB are shown with their authors."}
          </EmptyState>
        ) : (
          <>
            <div className="scroll card" tabIndex={0} role="region" aria-label="Lines">
              <table className="blame">
                <tbody>
                  {cutPage(blame.parts, page).map((part) => (
                    <tr key={part.first_line}>
                      <td className="who">
                        <PartCommit
                          home={toPath(params.owner, params.repo)}
                          commit={blame.commits.get(part.sha)}
                          before={
                            part.previous === null
                              ? undefined
                              : toSourcePath(
                                  repository,
                                  {
                                    kind: "commit",
                                    ref: part.previous.sha,
                                    path: part.previous.path,
                                  },
                                  "blame",
                                )
                          }
                        />
                      </td>
                      <td className="lines">
                        <pre>{numbersOf(part)}</pre>
                      </td>
                      <td>
                        <pre>{lines.slice(part.first_line - 1, endOf(part)).join("\n")}</pre>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <Pager page={page} limit={LIMIT} total={lines.length} query={context.request.query} />
          </>
        )}
      </>
    ),
  } as const;
}

async function readLines(
  context: ForgePageContext,
  params: PlaceParams,
  { sha, size }: { readonly sha: string; readonly size: number },
): Promise<readonly string[] | undefined> {
  if (size > FILE_BYTES_MAX) return undefined;
  const bytes = await readBytes(context, params, sha);
  return bytes && decodeIfText(bytes)?.replace(/\n$/, "").split("\n");
}

/** Returns the blame, or why git cannot make it in time. */
async function loadBlame(
  { call }: ForgePageContext,
  { owner, repo }: PlaceParams,
  { path, ref }: { readonly path: string; readonly ref: string },
) {
  try {
    const params = { owner, repo, filepath: path };
    const { body } = await call(browsingEndpoints.getBlame, { params, query: { ref } });
    return { ...body, commits: new Map(body.commits.map((commit) => [commit.sha, commit])) };
  } catch (error) {
    if (!(error instanceof AppError) || !["unavailable", "unprocessable"].includes(error.code))
      throw error;
    return `This file has no blame here: ${error.message}. Use git blame in a clone.`;
  }
}

interface Part {
  readonly first_line: number;
  readonly lines: number;
}

const endOf = ({ first_line: first, lines }: Part) => first - 1 + lines;

const numbersOf = ({ first_line: first, lines }: Part) =>
  Array.from({ length: lines }, (_, at) => first + at).join("\n");

/** Returns the parts of a page; one that goes over its ends is cut. */
function cutPage<P extends Part>(parts: readonly P[], page: number): P[] {
  const [start, end] = [(page - 1) * LIMIT + 1, page * LIMIT];
  return parts
    .filter((part) => endOf(part) >= start && part.first_line <= end)
    .map((part) => {
      const first = Math.max(part.first_line, start);
      return { ...part, first_line: first, lines: Math.min(endOf(part), end) - first + 1 };
    });
}

function PartCommit({
  home,
  commit,
  before,
}: {
  home: string;
  commit:
    | {
        readonly sha: string;
        readonly summary: string;
        readonly author: { readonly name: string; readonly date: string };
      }
    | undefined;
  before: string | undefined;
}) {
  if (commit === undefined) return null;
  return (
    <>
      <a href={`${home}/commit/${commit.sha}`} title={commit.summary}>
        <bdi>{commit.summary || commit.sha.slice(0, 10)}</bdi>
      </a>{" "}
      <span className="quiet">
        <bdi>{commit.author.name}</bdi> <Time at={commit.author.date} />
      </span>{" "}
      {before === undefined ? null : (
        <a href={before} aria-label={`Blame before ${commit.sha.slice(0, 10)}`}>
          before
        </a>
      )}
    </>
  );
}
