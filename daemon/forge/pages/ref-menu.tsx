import { browsingEndpoints } from "../../contract/forge/code/browsing.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { toPath } from "../../pages/page.ts";
import type { ForgePageContext, RepositoryParams } from "./forge-page.ts";
import { type Place, type PlaceForm, toRefName, toSourcePath } from "./place.tsx";

/** The newest branches and tags of a repository, for the menu; the pages of branches and tags have all. */
export interface RefNames {
  readonly branches: readonly string[];
  readonly tags: readonly string[];
}

export async function loadRefs(
  { call }: ForgePageContext,
  { owner, repo }: RepositoryParams,
): Promise<RefNames> {
  return (await call(browsingEndpoints.listRefNames, { params: { owner, repo } })).body;
}

/** The menu of branches and tags; each leads to the same path there. */
export function RefMenu({
  repository,
  refs: { branches, tags },
  place,
  form = "src",
}: {
  repository: WireRepository;
  refs: RefNames;
  place: Place;
  form?: PlaceForm;
}) {
  const home = toPath(repository.owner.login, repository.name);
  const toLink = (kind: "branch" | "tag") => (ref: string) => (
    <li key={ref}>
      <a
        href={toSourcePath(repository, { ...place, kind, ref }, form)}
        aria-current={kind === place.kind && ref === place.ref ? "true" : undefined}
      >
        <bdi>{ref}</bdi>
      </a>
    </li>
  );
  return (
    <details className="menu">
      <summary>
        {place.kind} <bdi>{toRefName(place)}</bdi>
      </summary>
      <div className="menu-body">
        <form
          method="get"
          action={`${home}/branches`}
          role="search"
          aria-label="Branches"
          className="row"
        >
          <input
            type="search"
            name="q"
            maxLength={200}
            aria-label="Find a branch"
            placeholder="Find a branch"
            data-filter=""
          />
        </form>
        <h2>Branches</h2>
        <ul className="plain-list">{branches.map(toLink("branch"))}</ul>
        <p>
          <a href={`${home}/branches`}>All branches</a>
        </p>
        {tags.length === 0 ? null : (
          <>
            <h2>Tags</h2>
            <ul className="plain-list">{tags.map(toLink("tag"))}</ul>
            <p>
              <a href={`${home}/tags`}>All tags</a>
            </p>
          </>
        )}
      </div>
    </details>
  );
}
