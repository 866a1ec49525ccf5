import { branchEndpoints, type WireBranch } from "../../contract/forge/code/branches.ts";
import { browsingEndpoints } from "../../contract/forge/code/browsing.ts";
import { tagEndpoints } from "../../contract/forge/code/tags.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { Alert, EmptyState, Pager, Time, toCount } from "../../pages/elements.tsx";
import { Form, SearchForm } from "../../pages/form.tsx";
import { get, post, toFolderPath, toPageNumber, toPath } from "../../pages/page.ts";
import { firstLine } from "./commit-pages.tsx";
import { UserLink } from "./elements.tsx";
import {
  findRefusal,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  type ForgeSession,
  type RepositoryParams,
  toSignIn,
} from "./forge-page.ts";
import { toSourcePath } from "./place.tsx";
import { loadHead, RepositoryHead, mayChangeCode } from "./repository-head.tsx";

/** Branches, tags and people on one page. */
const LIMIT = 30;

/** Branches, tags and contributors of repositories. */
export function refPages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/branches", (context, params) => showBranches(context, params)),
    post("/:owner/:repo/branches", changeBranches),
    get("/:owner/:repo/tags", showTags),
    get("/:owner/:repo/activity/contributors", showContributors),
  ];
}

async function showBranches(context: ForgePageContext, params: RepositoryParams, failed?: string) {
  const { call, request, session } = context;
  const repository = await loadHead(context, params);
  const page = toPageNumber(request);
  const q = request.query.get("q") ?? "";
  const query = { q, page: String(page), limit: String(LIMIT) };
  const [{ body: branches, total = 0 }, { body: divergence }] = await Promise.all([
    call(branchEndpoints.listBranches, { params, query }),
    call(browsingEndpoints.listDivergence, { params, query }),
  ]);
  const byName = new Map(divergence.map((each) => [each.name, each]));
  const mayWrite = mayChangeCode(repository);
  return {
    kind: "page",
    title: `Branches of ${repository.full_name}`,
    ...(failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={repository} current="branches" />
        <Alert text={failed} />
        <SearchForm label="Find a branch" query={q} />
        {branches.length === 0 ? <EmptyState>No branches.</EmptyState> : null}
        <ul className="list">
          {branches.map((branch) => (
            <li key={branch.name} className="commit">
              <div>
                <a href={toSourcePath(repository, { kind: "branch", ref: branch.name, path: "" })}>
                  <bdi>{branch.name}</bdi>
                </a>{" "}
                {branch.name === repository.default_branch ? (
                  <span className="label">default</span>
                ) : null}{" "}
                {branch.protected ? <span className="label">protected</span> : null}
                <p className="quiet">
                  <bdi>{firstLine(branch.commit.message)}</bdi>{" "}
                  <Time at={branch.commit.timestamp} />
                </p>
              </div>
              <BranchTools
                repository={repository}
                branch={branch}
                counts={byName.get(branch.name)}
                session={mayWrite ? session : undefined}
              />
            </li>
          ))}
        </ul>
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
        {mayWrite && session !== undefined && !repository.empty ? (
          <NewBranch session={session} repository={repository} />
        ) : null}
      </>
    ),
  } as const;
}

function BranchTools({
  repository,
  branch: { name, commit, user_can_push: canPush, protected: isProtected },
  counts,
  session,
}: {
  repository: WireRepository;
  branch: WireBranch;
  counts: { readonly ahead: number | null; readonly behind: number | null } | undefined;
  session: ForgeSession | undefined;
}) {
  if (name === repository.default_branch) return null;
  const home = toPath(repository.owner.login, repository.name);
  const range = `${toFolderPath(repository.default_branch)}...${toFolderPath(name)}`;
  const { ahead = null, behind = null } = counts ?? {};
  return (
    <div className="tools">
      {ahead === null || behind === null ? null : (
        <span className="quiet">{`${ahead} ahead, ${behind} behind`}</span>
      )}
      <a href={`${home}/compare/${range}`} aria-label={`Compare ${name}`}>
        Compare
      </a>
      {session === undefined || !canPush || isProtected ? null : (
        <Form action={`${home}/branches`} token={session.formToken} className="inline">
          <input type="hidden" name="delete" value={name} />
          <input type="hidden" name="commit" value={commit.id} />
          <button type="submit" className="link" aria-label={`Delete ${name}`}>
            Delete
          </button>
        </Form>
      )}
    </div>
  );
}

function NewBranch({ session, repository }: { session: ForgeSession; repository: WireRepository }) {
  return (
    <details>
      <summary>New branch</summary>
      <Form
        action={`${toPath(repository.owner.login, repository.name)}/branches`}
        token={session.formToken}
        className="stack"
      >
        <label>
          Name
          <input name="name" required maxLength={100} autoCapitalize="none" />
        </label>
        <label>
          From a branch, tag or commit
          <input name="from" required maxLength={100} defaultValue={repository.default_branch} />
        </label>
        <div>
          <button type="submit">Create the branch</button>
        </div>
      </Form>
    </details>
  );
}

/** Deletes or creates a branch. */
async function changeBranches(
  context: ForgePageContext,
  params: RepositoryParams,
): Promise<ForgePageAnswer> {
  const { call, form, session } = context;
  const home = toPath(params.owner, params.repo);
  if (session === undefined) return toSignIn(`${home}/branches`);
  const deleted = form.get("delete");
  const refusal = await findRefusal(
    ["forbidden", "not_found", "conflict", "precondition_failed", "unprocessable", "archived"],
    async () => {
      if (deleted !== null) {
        const path = { owner: params.owner, repo: params.repo, branch: deleted };
        // What the page showed is deleted, not what was pushed since.
        const headers = { "if-match": `"${form.get("commit") ?? ""}"` };
        await call(branchEndpoints.deleteBranch, { params: path, headers });
        return;
      }
      const body = {
        new_branch_name: (form.get("name") ?? "").trim(),
        old_ref_name: (form.get("from") ?? "").trim(),
      };
      await call(branchEndpoints.createBranch, { params, body });
    },
  );
  if (refusal !== undefined) return showBranches(context, params, refusal.message);
  return { kind: "redirect", to: `${home}/branches` };
}

async function showTags(context: ForgePageContext, params: RepositoryParams) {
  const { call, request } = context;
  const repository = await loadHead(context, params);
  const page = toPageNumber(request);
  const query = { page: String(page), limit: String(LIMIT) };
  const { body: tags, total = 0 } = await call(tagEndpoints.listTags, { params, query });
  const home = toPath(params.owner, params.repo);
  return {
    kind: "page",
    title: `Tags of ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="releases" />
        <div className="title">
          <h2>Tags</h2>
          <a href={`${home}/tags.atom`}>Feed</a>
        </div>
        {tags.length === 0 ? <EmptyState>No tags.</EmptyState> : null}
        <ul className="list">
          {tags.map(({ name, message, commit }) => (
            <li key={name} className="commit">
              <div>
                <a href={toSourcePath(repository, { kind: "tag", ref: name, path: "" })}>
                  <bdi>{name}</bdi>
                </a>
                <p className="quiet">
                  <bdi>{firstLine(message)}</bdi>
                </p>
              </div>
              <p className="tools">
                <a href={`${home}/commit/${commit.sha}`}>
                  <code>{commit.sha.slice(0, 10)}</code>
                </a>
                <a href={`${home}/archive/${toFolderPath(name)}.zip`} aria-label={`${name} as zip`}>
                  zip
                </a>
                <a
                  href={`${home}/archive/${toFolderPath(name)}.tar.gz`}
                  aria-label={`${name} as tar.gz`}
                >
                  tar.gz
                </a>
              </p>
            </li>
          ))}
        </ul>
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

async function showContributors(context: ForgePageContext, params: RepositoryParams) {
  const { call, request } = context;
  const repository = await loadHead(context, params);
  const page = toPageNumber(request);
  const query = { page: String(page), limit: String(LIMIT) };
  const { body: people, total = 0 } = await call(browsingEndpoints.listContributors, {
    params,
    query,
  });
  const most = Math.max(1, ...people.map(({ commits }) => commits));
  return {
    kind: "page",
    title: `Contributors of ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="commits" />
        <h2>Contributors</h2>
        <p className="quiet">
          Authors of the commits of {repository.default_branch}, by number of commits.
        </p>
        <ol className="list">
          {people.map(({ name, email, commits, user }) => (
            <li key={`${name} ${email}`} className="commit">
              <div>{user === null ? <bdi>{name}</bdi> : <UserLink user={user} />}</div>
              <div className="tools">
                <meter min={0} max={most} value={commits} aria-hidden="true" />
                <span>{toCount(commits, "commit")}</span>
              </div>
            </li>
          ))}
        </ol>
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}
