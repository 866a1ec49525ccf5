import { commitEndpoints } from "../../contract/forge/code/commits.ts";
import { pullChangeEndpoints } from "../../contract/forge/pulls/pull-changes.ts";
import { pullEndpoints } from "../../contract/forge/pulls/pulls.ts";
import { EmptyState, Pager } from "../../pages/elements.tsx";
import { declareForm } from "../../pages/form.tsx";
import { get, post, toPageNumber, toPath } from "../../pages/page.ts";
import { CommitList, firstLine } from "./commit-pages.tsx";
import { Diff, loadDiff, TextLinks } from "./diff.tsx";
import {
  findRefusal,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  type RepositoryParams,
  toSignIn,
} from "./forge-page.ts";
import { sendComparison } from "./file-pages.ts";
import { loadPull, PullHead, type PullParams, toPullPath } from "./pull-head.tsx";
import { addLineComment, loadLines, toLineExtras } from "./line-comments.tsx";
import { loadRefs } from "./ref-menu.tsx";
import { loadHead, mayChangeCode, RepositoryHead } from "./repository-head.tsx";

/** Number of commits on one page. */
const LIMIT = 30;

/** The commits and changes of pull requests, and the comparison of branches from which one is opened. */
export function pullChangesPages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/pulls/:index/commits", showCommits),
    get("/:owner/:repo/pulls/:index/files", (context, params) => showFiles(context, params)),
    post("/:owner/:repo/pulls/:index/files", (context, params) =>
      addLineComment(context, params, (failed) => showFiles(context, params, failed)),
    ),
    get("/:owner/:repo/compare", chooseBranches),
    get(
      "/:owner/:repo/compare/**:basehead",
      async (context, params) =>
        (await sendComparison(context, params)) ?? (await showComparison(context, params)),
    ),
    post("/:owner/:repo/compare/**:basehead", openPull),
  ];
}

async function showCommits(context: ForgePageContext, params: PullParams) {
  const { call, request } = context;
  const { pull, repository } = await loadPull(context, params);
  const page = toPageNumber(request);
  const query = {
    files: "false",
    verification: "false",
    page: String(page),
    limit: String(LIMIT),
  };
  const { body: commits, total = 0 } = await call(pullChangeEndpoints.listPullCommits, {
    params,
    query,
  });
  return {
    kind: "page",
    title: `Commits of ${pull.title} #${pull.number}`,
    body: (
      <>
        <PullHead pull={pull} repository={repository} params={params} current="commits" />
        <CommitList commits={commits} params={params} />
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

async function showFiles(
  context: ForgePageContext,
  params: PullParams,
  failed?: string,
): Promise<ForgePageAnswer> {
  const { session } = context;
  const { pull, repository } = await loadPull(context, params);
  const { owner, repo, index } = params;
  const path = { params: { owner, repo, index } };
  const diff = await loadDiff(context, pullChangeEndpoints.getPullDiff, path);
  const address = toPullPath(params, pull);
  const extras = toLineExtras(context, {
    pull,
    home: address,
    conversations: await loadLines(context, params),
    forms: session && {
      home: address,
      token: session.formToken,
      isOpen: pull.state === "open" && !repository.archived,
      mayChange: mayChangeCode(repository) || pull.user?.id === session.caller.user.id,
      back: `${address}/files`,
    },
    failed,
  });
  return {
    kind: "page",
    title: `Changes of ${pull.title} #${pull.number}`,
    ...(failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <PullHead pull={pull} repository={repository} params={params} current="files" />
        <Diff
          diff={diff}
          request={context.request}
          more={<TextLinks address={address} />}
          extras={extras}
        />
      </>
    ),
  } as const;
}

/** The form that leads to the comparison of two branches, from which a pull request is opened. */
async function chooseBranches(context: ForgePageContext, params: RepositoryParams) {
  const { query } = context.request;
  const repository = await loadHead(context, params);
  const [base, head] = ["base", "head"].map((name) => (query.get(name) ?? "").trim());
  if (base !== undefined && base !== "" && head !== undefined && head !== "")
    return {
      kind: "redirect",
      to: toComparisonPath({ ...params, basehead: `${base}...${head}` }),
    } as const;
  const { branches } = await loadRefs(context, params);
  return {
    kind: "page",
    title: `New pull request in ${repository.full_name}`,
    body: (
      <>
        <RepositoryHead repository={repository} current="pulls" />
        <h2>New pull request</h2>
        <form method="get" className="stack">
          <label>
            Merge into
            <input name="base" required list="branches" defaultValue={repository.default_branch} />
          </label>
          <label>
            The commits of a branch; of a fork as owner:branch
            <input name="head" required list="branches" autoCapitalize="none" />
          </label>
          <datalist id="branches">
            {branches.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          <div>
            <button type="submit" className="primary">
              Compare
            </button>
          </div>
        </form>
      </>
    ),
  } as const;
}

type ComparisonParams = RepositoryParams & { readonly basehead: string };

const newPullForm = declareForm({
  submit: "Open a pull request",
  fields: {
    title: { label: "Title", type: "text", lengthMax: 255, isTrimmed: true },
    body: { label: "Text, in Markdown", type: "multiline", lengthMax: 65_536, isOptional: true },
  },
});

async function showComparison(
  context: ForgePageContext,
  params: ComparisonParams,
  failed?: string,
) {
  const { call, form, request, session } = context;
  const { owner, repo, basehead } = params;
  const repository = await loadHead(context, params);
  const { body: comparison } = await call(commitEndpoints.compare, {
    params: { owner, repo, basehead },
  });
  const diff = await loadDiff(context, commitEndpoints.compare, {
    params: { owner, repo, basehead },
    query: { output: "diff" },
  });
  const commits = comparison.commits.toReversed();
  const [first] = commits;
  const values = {
    title: first === undefined ? "" : firstLine(first.commit.message),
    body: first === undefined ? "" : first.commit.message.split("\n").slice(1).join("\n").trim(),
  };
  return {
    kind: "page",
    title: `${basehead} in ${repository.full_name}`,
    ...(failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={repository} current="pulls" />
        <h2>{basehead}</h2>
        {commits.length === 0 ? <EmptyState>No commits of its own.</EmptyState> : null}
        <CommitList commits={commits} params={params} />
        {session === undefined || commits.length === 0 ? null : (
          <newPullForm.Form
            action={toComparisonPath(params)}
            token={session.formToken}
            values={failed === undefined ? values : newPullForm.read(form)}
            failed={failed === undefined ? undefined : { text: failed }}
          />
        )}
        {diff.files.length === 0 ? null : (
          <Diff
            diff={diff}
            request={request}
            more={<TextLinks address={toComparisonPath(params)} />}
          />
        )}
      </>
    ),
  } as const;
}

const toComparisonPath = ({ owner, repo, basehead }: ComparisonParams) =>
  toPath(owner, repo, "compare", ...basehead.split("/"));

async function openPull(
  context: ForgePageContext,
  params: ComparisonParams,
): Promise<ForgePageAnswer> {
  const { call, form, session } = context;
  if (session === undefined) return toSignIn(toComparisonPath(params));
  const { owner, repo, basehead } = params;
  const [base = "", head = ""] = basehead.split("...");
  const { title, body } = newPullForm.read(form);
  let number = 0;
  const refusal = await findRefusal(
    ["forbidden", "unprocessable", "archived", "conflict", "invalid_argument", "not_found"],
    async () => {
      const input = { base, head, title, body: body.replaceAll("\r\n", "\n") };
      const { body: pull } = await call(pullEndpoints.createPull, {
        params: { owner, repo },
        body: input,
      });
      ({ number } = pull);
    },
  );
  if (refusal !== undefined) return showComparison(context, params, refusal.message);
  return { kind: "redirect", to: toPullPath(params, { number }) };
}
