import { pullEndpoints, type WirePull } from "../../contract/forge/pulls/pulls.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { State, Tabs } from "../../pages/elements.tsx";
import { toPath } from "../../pages/page.ts";
import { Author } from "./elements.tsx";
import type { ForgePageContext, RepositoryParams } from "./forge-page.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

export type PullParams = RepositoryParams & { readonly index: string };

export const toPullPath = (
  { owner, repo }: RepositoryParams,
  { number }: { readonly number: number },
) => toPath(owner, repo, "pulls", String(number));

/** `open`, `draft`, `closed` or `merged`. */
function toState({ merged, draft, state }: WirePull): string {
  if (merged) return "merged";
  return draft && state === "open" ? "draft" : state;
}

/** The branch of the head, with the owner of a fork. */
function toHeadName({ head, base }: WirePull): string {
  const branch = head.label === "" ? head.ref : head.label;
  const { repo } = head;
  return repo === null || repo.id === base.repo_id ? branch : `${repo.owner.login}:${branch}`;
}

/** Loads a pull request with the repository of its page. */
export async function loadPull(context: ForgePageContext, { owner, repo, index }: PullParams) {
  const params = { owner, repo, index };
  const { body: pull } = await context.call(pullEndpoints.getPull, { params });
  return { pull, repository: await loadHead(context, params) };
}

/** The title of a pull request and its tabs. */
export function PullHead({
  pull,
  repository,
  params,
  current,
  originalAuthor = "",
}: {
  pull: WirePull;
  repository: WireRepository;
  params: PullParams;
  current: "conversation" | "commits" | "files";
  /** The name of the author at the place from which it was imported. */
  originalAuthor?: string;
}) {
  const home = toPullPath(params, pull);
  return (
    <>
      <RepositoryHead repository={repository} current="pulls" />
      <h2>
        <bdi>{pull.title}</bdi> <span className="quiet">{`#${pull.number}`}</span>
      </h2>
      <p className="quiet">
        <State word={toState(pull)} /> <Author user={pull.user} original={originalAuthor} />{" "}
        {pull.merged ? "asked to merge" : "wants to merge"} <code>{toHeadName(pull)}</code> into{" "}
        <code>{pull.base.ref}</code>
      </p>
      <Tabs
        label="Pull request"
        tabs={[
          { key: "conversation", text: "Conversation", href: home },
          { key: "commits", text: "Commits", href: `${home}/commits` },
          { key: "files", text: `Changes (${pull.changed_files ?? 0})`, href: `${home}/files` },
        ]}
        current={current}
      />
    </>
  );
}
