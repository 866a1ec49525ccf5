import { forkEndpoints } from "../../contract/forge/repositories/forks.ts";
import { EmptyState, Pager, Time } from "../../pages/elements.tsx";
import { declareForm } from "../../pages/form.tsx";
import { get, post, toPageNumber, toPath } from "../../pages/page.ts";
import {
  findRefusal,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  type RepositoryParams,
  toSignIn,
} from "./forge-page.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

/** Forks on one page. */
const LIMIT = 30;

const forkForm = declareForm({
  submit: "Fork",
  fields: {
    organization: {
      label: "Organization, or empty for your own account",
      type: "text",
      isOptional: true,
      isTrimmed: true,
      lengthMax: 40,
      autoCapitalize: "none",
    },
    name: {
      label: "Name",
      type: "text",
      isTrimmed: true,
      lengthMax: 100,
      autoCapitalize: "none",
    },
  },
});

/** The forks of a repository, and the form that makes one. */
export function forkPages(): ForgePageRoute[] {
  return [
    get("/:owner/:repo/forks", (context, params) => showForks(context, params)),
    post("/:owner/:repo/forks", createFork),
  ];
}

async function showForks(context: ForgePageContext, params: RepositoryParams, failed?: string) {
  const { call, request, session, form } = context;
  const repository = await loadHead(context, params);
  const page = toPageNumber(request);
  const query = { page: String(page), limit: String(LIMIT) };
  const { body: forks, total = 0 } = await call(forkEndpoints.listForks, { params, query });
  return {
    kind: "page",
    title: `Forks of ${repository.full_name}`,
    ...(failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={repository} current="forks" />
        {total === 0 ? <EmptyState>Nobody has forked this repository.</EmptyState> : null}
        <ul className="list">
          {forks.map((fork) => (
            <li key={fork.id}>
              <a href={toPath(fork.owner.login, fork.name)}>{fork.full_name}</a>{" "}
              <span className="quiet">
                updated <Time at={fork.updated_at} />
              </span>
            </li>
          ))}
        </ul>
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
        {session === undefined ? (
          <p>
            <a href={`/user/login?redirect_to=${encodeURIComponent(request.target)}`}>Sign in</a> to
            fork.
          </p>
        ) : (
          <forkForm.Form
            token={session.formToken}
            values={failed === undefined ? { name: repository.name } : forkForm.read(form)}
            failed={failed === undefined ? undefined : { text: failed }}
          />
        )}
      </>
    ),
  } as const;
}

async function createFork(
  context: ForgePageContext,
  params: RepositoryParams,
): Promise<ForgePageAnswer> {
  const { call, form, session } = context;
  if (session === undefined) return toSignIn(toPath(params.owner, params.repo, "forks"));
  let to = "";
  const refusal = await findRefusal(
    ["conflict", "forbidden", "not_found", "unprocessable"],
    async () => {
      const body = forkForm.read(form);
      const fork = (await call(forkEndpoints.createFork, { params, body })).body;
      to = toPath(fork.owner.login, fork.name);
    },
  );
  if (refusal !== undefined) return showForks(context, params, refusal.message);
  return { kind: "redirect", to };
}
