import {
  browsingEndpoints,
  CODE_TEXT_MAX,
  FOUND_FILES_MAX,
} from "../../contract/forge/code/browsing.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { EmptyState, FileList, toCount } from "../../pages/elements.tsx";
import { get } from "../../pages/page.ts";
import type { ForgePageContext, ForgePageRoute, RepositoryParams } from "./forge-page.ts";
import { findPlace, type Place, type PlaceParams, toRef, toSourcePath } from "./place.tsx";
import { loadRefs, RefMenu } from "./ref-menu.tsx";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

/** The search of a repository for files by name, and for code. */
export function findPages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/find/:kind/**:rest", showFiles),
    get("/:owner/:repo/search", showCode),
  ];
}

async function showFiles(context: ForgePageContext, params: PlaceParams) {
  const repository = await loadHead(context, params);
  const place = await findPlace(context, params);
  const q = context.request.query.get("q") ?? "";
  const { owner, repo } = params;
  const [{ body, total = 0 }, refs] = await Promise.all([
    context.call(browsingEndpoints.findFiles, {
      params: { owner, repo },
      query: { q, ref: toRef(place) },
    }),
    loadRefs(context, params),
  ]);
  return {
    kind: "page",
    title: `Go to file in ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <div className="bar">
          <RefMenu repository={repository} refs={refs} place={place} form="find" />
        </div>
        <form method="get" className="row" role="search">
          <input
            type="search"
            name="q"
            defaultValue={q}
            maxLength={CODE_TEXT_MAX}
            aria-label="Words of the path"
            placeholder="Words of the path"
            autoFocus
            data-find="found"
          />
          <button type="submit">Find</button>
        </form>
        <div id="found" aria-live="polite">
          <p className="quiet">
            {toCount(total, "file")}
            {total > FOUND_FILES_MAX ? `, of which the first ${FOUND_FILES_MAX} are listed` : ""}
            {body.truncated ? "; the repository has more files than are searched" : ""}
          </p>
          {total === 0 ? null : (
            <FileList
              label="Found files"
              entries={body.files.map((path) => ({
                name: path,
                href: toSourcePath(repository, { ...place, path }),
                note: null,
              }))}
            />
          )}
        </div>
      </>
    ),
  } as const;
}

async function showCode(context: ForgePageContext, params: RepositoryParams) {
  const repository = await loadHead(context, params);
  const q = (context.request.query.get("q") ?? "").trim().slice(0, CODE_TEXT_MAX);
  const place = { kind: "branch", ref: repository.default_branch, path: "" };
  return {
    kind: "page",
    title: `Search of ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="files" />
        <form method="get" className="row" role="search">
          <input
            type="search"
            name="q"
            defaultValue={q}
            maxLength={CODE_TEXT_MAX}
            aria-label="Text in the code"
            placeholder="Text in the code"
          />
          <button type="submit">Search</button>
        </form>
        {q === "" || repository.empty ? (
          <EmptyState>
            The search finds a text of one line in the files of {repository.default_branch}.
          </EmptyState>
        ) : (
          <CodeMatches
            repository={repository}
            place={place}
            found={await searchCode(context, params, q)}
            q={q}
          />
        )}
      </>
    ),
  } as const;
}

/** Searches the default branch of a repository. */
export async function searchCode(
  { call }: ForgePageContext,
  { owner, repo }: RepositoryParams,
  q: string,
) {
  const query = { q: q.replace(/[\0\r\n]/g, " ") };
  return (await call(browsingEndpoints.searchCode, { params: { owner, repo }, query })).body;
}

/** Files with the lines that contain a text. */
export function CodeMatches({
  repository,
  place,
  found: { matches, truncated },
  q,
}: {
  repository: WireRepository;
  place: Place;
  found: Awaited<ReturnType<typeof searchCode>>;
  q: string;
}) {
  if (matches.length === 0)
    return (
      <EmptyState>
        {truncated
          ? "The search took too long and found nothing until then."
          : "No file contains this text."}
      </EmptyState>
    );
  return (
    <>
      {truncated ? (
        <p className="quiet">A limit ended the search: there may be further files.</p>
      ) : null}
      {matches.map(({ path, lines }) => {
        const href = toSourcePath(repository, { ...place, path });
        return (
          <section key={path} className="card" aria-label={path}>
            <p className="head">
              <a href={href}>
                <bdi>{path}</bdi>
              </a>
            </p>
            <ol className="matches">
              {lines.map(({ number, text }) => (
                <li key={number}>
                  <a href={`${href}#L${number}`} aria-label={`Line ${number}`}>
                    {number}
                  </a>
                  <code>{markText(text, q)}</code>
                </li>
              ))}
            </ol>
          </section>
        );
      })}
    </>
  );
}

/** Marks the first occurrence of the searched text, in any letter case. */
function markText(line: string, q: string) {
  const at = line.toLowerCase().indexOf(q.toLowerCase());
  if (at === -1) return line;
  return (
    <>
      {line.slice(0, at)}
      <mark>{line.slice(at, at + q.length)}</mark>
      {line.slice(at + q.length)}
    </>
  );
}
