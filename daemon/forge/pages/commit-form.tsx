import { branchEndpoints } from "../../contract/forge/code/branches.ts";
import { contentsEndpoints } from "../../contract/forge/code/contents.ts";
import { forkEndpoints } from "../../contract/forge/repositories/forks.ts";
import { repositoryListEndpoints } from "../../contract/forge/repositories/lists.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { pullEndpoints } from "../../contract/forge/pulls/pulls.ts";
import type { ForgePageContext, ForgeSession } from "./forge-page.ts";
import { type Place, toSourcePath } from "./place.tsx";
import { toPullPath } from "./pull-head.tsx";

/** Where the commit of a form may go. */
export interface CommitTarget {
  readonly repository: WireRepository;
  readonly place: Place;
  /** `branch`: to the branch itself, or to a new one. `new_branch`: the branch is protected. `fork`: the caller may not write. */
  readonly reach: "branch" | "new_branch" | "fork";
  /** A free name for a new branch. */
  readonly newBranch: string;
}

/** Finds where the caller may commit a change of a branch. */
export async function findTarget(
  { call }: ForgePageContext,
  session: ForgeSession,
  { repository, place }: Pick<CommitTarget, "repository" | "place">,
): Promise<CommitTarget> {
  const params = { owner: repository.owner.login, repo: repository.name };
  const prefix = `${session.caller.user.name}-patch-`;
  if (repository.empty) return { repository, place, reach: "branch", newBranch: `${prefix}1` };
  const [{ body: branch }, { body: taken }] = await Promise.all([
    call(branchEndpoints.getBranch, { params: { ...params, branch: place.ref } }),
    call(branchEndpoints.listBranches, { params, query: { q: prefix, limit: "50" } }),
  ]);
  const numbers = taken.map(({ name }) => Number(name.slice(prefix.length)) || 0);
  const newBranch = `${prefix}${Math.max(0, ...numbers) + 1}`;
  const reach =
    repository.permissions?.push !== true ? "fork" : branch.user_can_push ? "branch" : "new_branch";
  return { repository, place, reach, newBranch };
}

/** The fields about the commit: its message, and the branch that it goes to. */
export function CommitFields({
  target: { repository, place, reach, newBranch },
  form,
  summary,
}: {
  target: CommitTarget;
  /** The fields as they were sent before; empty at first. */
  form: URLSearchParams;
  /** The message when the person writes none. */
  summary: string;
}) {
  const isNew = reach !== "branch" || form.get("target") === "new";
  return (
    <fieldset>
      <legend>Commit</legend>
      <label>
        Message
        <input
          name="message"
          maxLength={1_000}
          placeholder={summary}
          defaultValue={form.get("message") ?? ""}
        />
      </label>
      <label>
        Description, if there is more to say
        <textarea
          name="description"
          className="short"
          maxLength={60_000}
          defaultValue={form.get("description") ?? ""}
        />
      </label>
      {reach === "fork" ? (
        <p className="notice">
          You may not write to {repository.full_name}. The commit goes to a branch of your fork, and
          a pull request proposes it.
        </p>
      ) : (
        <label className="check">
          <input
            type="radio"
            name="target"
            value="direct"
            disabled={reach !== "branch"}
            defaultChecked={!isNew}
          />{" "}
          <span>
            Commit to <b>{place.ref}</b>
            {reach === "new_branch" ? ", which is protected: you may not push to it" : ""}
          </span>
        </label>
      )}
      {repository.empty ? null : (
        <>
          {reach === "fork" ? null : (
            <label className="check">
              <input type="radio" name="target" value="new" defaultChecked={isNew} /> Commit to a
              new branch and open a pull request
            </label>
          )}
          <label>
            Name of the new branch
            <input
              name="new_branch"
              maxLength={100}
              autoCapitalize="none"
              defaultValue={form.get("new_branch") ?? newBranch}
            />
          </label>
        </>
      )}
    </fieldset>
  );
}

/** A change of a file; the content is base64. */
export interface FileChange {
  readonly operation: "create" | "update" | "upload" | "delete";
  readonly path: string;
  readonly content?: string;
  readonly sha?: string;
  readonly from_path?: string;
}

/** Commits changes as the form says. Returns the address that shows the result: the branch, or the pull request. */
export async function commitChanges(
  context: ForgePageContext,
  session: ForgeSession,
  target: CommitTarget,
  files: readonly FileChange[],
  { summary, shownPath }: { readonly summary: string; readonly shownPath: string },
): Promise<string> {
  const { call, form } = context;
  const { repository, place, reach } = target;
  const title = (form.get("message") ?? "").trim() || summary;
  const text = (form.get("description") ?? "").replaceAll("\r\n", "\n").trim();
  const isNew = reach === "fork" || form.get("target") === "new";
  const newBranch = isNew ? (form.get("new_branch") ?? "").trim() || target.newBranch : undefined;
  const goal = reach === "fork" ? await findFork(context, session, repository) : repository;
  const { body: changed } = await call(contentsEndpoints.changeFiles, {
    params: { owner: goal.owner.login, repo: goal.name },
    body: {
      files,
      branch: place.ref,
      ...(newBranch === undefined ? {} : { new_branch: newBranch }),
      message: text === "" ? title : `${title}\n\n${text}`,
    },
  });
  if (newBranch === undefined) return toSourcePath(repository, { ...place, path: shownPath });
  if (!repository.has_pull_requests)
    return toSourcePath(goal, { kind: "branch", ref: newBranch, path: shownPath });
  const head = goal === repository ? newBranch : `${goal.owner.login}:${newBranch}`;
  const params = { owner: repository.owner.login, repo: repository.name };
  try {
    const { body: pull } = await call(pullEndpoints.createPull, {
      params,
      body: { head, base: place.ref, title: title.slice(0, 255), body: text },
    });
    return toPullPath(params, pull);
  } catch (error) {
    // The form is shown again with the changes: without this, its next try would find the name taken.
    const branch = { owner: goal.owner.login, repo: goal.name, branch: newBranch };
    const headers = { "if-match": `"${changed.commit.sha}"` };
    await call(branchEndpoints.deleteBranch, { params: branch, headers });
    throw error;
  }
}

/** Pages of a person's own forks that are looked through. */
const FORK_PAGES_MAX = 100;

/** Returns the caller's fork of a repository; creates it if there is none. */
async function findFork(
  { call }: ForgePageContext,
  session: ForgeSession,
  { owner, name }: WireRepository,
): Promise<WireRepository> {
  const params = { owner: owner.login, repo: name };
  const login = session.caller.user.name;
  const uid = String(session.caller.user.id);
  // An account has few forks, while a repository may have many; one of each repository at most.
  for (let page = 1; page <= FORK_PAGES_MAX; page += 1) {
    const query = { uid, exclusive: "true", mode: "fork", limit: "50", page: String(page) };
    const { body } = await call(repositoryListEndpoints.searchRepositories, { query });
    const own = body.data.find(
      ({ owner: of, parent }) =>
        of.login === login && parent?.full_name === `${owner.login}/${name}`,
    );
    if (own !== undefined) return own;
    if (body.data.length < 50) break;
  }
  return (await call(forkEndpoints.createFork, { params, body: {} })).body;
}
