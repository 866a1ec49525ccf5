import { issueEndpoints } from "../../contract/forge/issues/issues.ts";
import { milestoneEndpoints, type WireMilestone } from "../../contract/forge/issues/milestones.ts";
import { AppError } from "../../errors.ts";
import { EmptyState, Menu, Pager, Rendered, State, Tabs, Time } from "../../pages/elements.tsx";
import { declareForm, Form } from "../../pages/form.tsx";
import { get, post, toPageNumber, toPath } from "../../pages/page.ts";
import { StateTabs } from "./elements.tsx";
import {
  findRefusal,
  formRefusals,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  type RepositoryParams,
  toSentence,
  toSignIn,
} from "./forge-page.ts";
import { IssueList } from "./issue-list.tsx";
import { loadWriters, mayWriteIssues } from "./planning.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";
import { renderComment } from "./texts.tsx";

const REPOSITORY = "/:owner/:repo";
const LIMIT = 30;
type MilestoneParams = RepositoryParams & { readonly id: string };

/** The milestones of a repository, at the addresses of Gitea. */
export function milestonePages(): ForgePageRoute[] {
  return [
    get(`${REPOSITORY}/milestones`, showMilestones),
    get(`${REPOSITORY}/milestones/new`, (context, params) => showForm(context, params)),
    post(`${REPOSITORY}/milestones/new`, (context, params) => save(context, params)),
    get(`${REPOSITORY}/milestones/:id/edit`, (context, params) =>
      showForm(context, params, { id: params.id }),
    ),
    post(`${REPOSITORY}/milestones/:id/edit`, (context, params) =>
      save(context, params, params.id),
    ),
    post(`${REPOSITORY}/milestones/:id/state`, (...at) => change(...at, setState)),
    post(`${REPOSITORY}/milestones/:id/delete`, (...at) => change(...at, deleteMilestone)),
    get(`${REPOSITORY}/milestone/:id`, showMilestone),
  ];
}

async function showMilestones(context: ForgePageContext, params: RepositoryParams) {
  const { call, request, session } = context;
  const head = await loadHead(context, params);
  const mayWrite = mayWriteIssues(context, head, await loadWriters(context, params));
  const page = toPageNumber(request);
  const state = request.query.get("state") ?? "open";
  const load = (more: Readonly<Record<string, string>>) =>
    call(milestoneEndpoints.listMilestones, { params, query: { state, ...more } });
  const { body: milestones, total = 0 } = await load({ page: String(page), limit: String(LIMIT) });
  const openCount = (await load({ state: "open", limit: "1" })).total ?? 0;
  const closedCount = (await load({ state: "closed", limit: "1" })).total ?? 0;
  const home = toPath(params.owner, params.repo);
  const shown = await Promise.all(
    milestones.map(async (milestone) => ({
      milestone,
      html: await renderComment(context, head.full_name, milestone.description),
    })),
  );
  return {
    kind: "page",
    title: `Milestones of ${head.full_name}`,
    body: (
      <>
        <RepositoryHead repository={head} current="issues" />
        <div className="title">
          <h2>Milestones</h2>
          {mayWrite ? (
            <a className="button primary" href={`${home}/milestones/new`}>
              New milestone
            </a>
          ) : null}
        </div>
        <Tabs
          label="State"
          tabs={[
            { key: "open", text: `Open (${openCount})`, href: "?state=open" },
            { key: "closed", text: `Closed (${closedCount})`, href: "?state=closed" },
            { key: "all", text: "All", href: "?state=all" },
          ]}
          current={state}
        />
        {milestones.length === 0 ? (
          <EmptyState command={`croft milestone create ${head.full_name} "1.0"`}>
            No milestones.
          </EmptyState>
        ) : (
          <ul className="list" aria-label="Milestones">
            {shown.map(({ milestone, html }) => (
              <li key={milestone.id}>
                <State word={milestone.state} />{" "}
                <a className="heading" href={`${home}/milestone/${milestone.id}`}>
                  <bdi>{milestone.title}</bdi>
                </a>
                <Progress milestone={milestone} />
                {milestone.description === "" ? null : (
                  <Rendered html={html} text={milestone.description} />
                )}
                {mayWrite ? (
                  <MilestoneForms milestone={milestone} home={home} token={session?.formToken} />
                ) : null}
              </li>
            ))}
          </ul>
        )}
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

function Progress({ milestone }: { milestone: WireMilestone }) {
  const { open_issues: open, closed_issues: closed, due_on: due, closed_at: closedAt } = milestone;
  const total = open + closed;
  const percent = total === 0 ? 0 : Math.floor((closed / total) * 100);
  return (
    <>
      <progress
        className="progress"
        max={Math.max(1, total)}
        value={closed}
        aria-label={`${percent} % done`}
      />
      <p className="quiet">
        {`${percent} % done · ${open} open · ${closed} closed`}
        {due === null ? null : ` · due ${due.slice(0, 10)}`}
        {closedAt === null ? null : (
          <>
            {" · closed "}
            <Time at={closedAt} />
          </>
        )}
      </p>
    </>
  );
}

function MilestoneForms({
  milestone: { id, state },
  home,
  token,
}: {
  milestone: WireMilestone;
  home: string;
  token: string | undefined;
}) {
  const isOpen = state === "open";
  return (
    <div className="tools">
      <a href={`${home}/milestones/${id}/edit`}>Edit</a>
      <Form action={`${home}/milestones/${id}/state`} token={token} className="inline">
        <button type="submit" className="link" name="state" value={isOpen ? "closed" : "open"}>
          {isOpen ? "Close" : "Reopen"}
        </button>
      </Form>
      <Menu name="Delete">
        <Form action={`${home}/milestones/${id}/delete`} token={token}>
          <button type="submit" className="danger">
            Delete it; its issues stay
          </button>
        </Form>
      </Menu>
    </div>
  );
}

/** The issues and pull requests of a milestone. */
async function showMilestone(context: ForgePageContext, params: MilestoneParams) {
  const { call, request } = context;
  const head = await loadHead(context, params);
  const { body: milestone } = await call(milestoneEndpoints.getMilestone, { params });
  const page = toPageNumber(request);
  const state = request.query.get("state") ?? "open";
  const { owner, repo } = params;
  const query = {
    milestones: milestone.title,
    state,
    page: String(page),
    limit: String(LIMIT),
  };
  const { body: issues, total = 0 } = await call(issueEndpoints.listIssues, {
    params: { owner, repo },
    query,
  });
  const home = toPath(owner, repo);
  return {
    kind: "page",
    title: `${milestone.title} in ${head.full_name}`,
    body: (
      <>
        <RepositoryHead repository={head} current="issues" />
        <h2>
          <bdi>{milestone.title}</bdi> <State word={milestone.state} />
        </h2>
        <p>
          <a href={`${home}/milestones`}>All milestones</a>
        </p>
        <Progress milestone={milestone} />
        <Rendered
          html={await renderComment(context, head.full_name, milestone.description)}
          text={milestone.description}
        />
        <StateTabs current={state} kept={{}} />
        {issues.length === 0 ? (
          <EmptyState>No issues of this milestone.</EmptyState>
        ) : (
          <IssueList issues={issues} label="Issues" isOfOneRepository />
        )}
        <Pager page={page} limit={LIMIT} total={total} query={request.query} />
      </>
    ),
  } as const;
}

const milestoneForm = declareForm({
  submit: "Save milestone",
  fields: {
    title: { label: "Title", type: "text", lengthMax: 255, isTrimmed: true },
    due_on: { label: "Due date", type: "date", isOptional: true },
    description: {
      label: "Description, in Markdown",
      type: "multiline",
      isOptional: true,
      lengthMax: 65_536,
    },
  },
});

/** Shows the form of a new milestone, or of the one with the id. */
async function showForm(
  context: ForgePageContext,
  params: RepositoryParams,
  { id, failed }: { readonly id?: string | undefined; readonly failed?: string } = {},
): Promise<ForgePageAnswer> {
  const { call, form, session, request } = context;
  if (session === undefined) return toSignIn(request.target);
  const head = await loadHead(context, params);
  const { owner, repo } = params;
  const current =
    id === undefined
      ? undefined
      : (await call(milestoneEndpoints.getMilestone, { params: { owner, repo, id } })).body;
  const values =
    failed !== undefined
      ? milestoneForm.read(form)
      : {
          title: current?.title ?? "",
          due_on: current?.due_on?.slice(0, 10) ?? "",
          description: current?.description ?? "",
        };
  const title = current === undefined ? "New milestone" : `Edit ${current.title}`;
  return {
    kind: "page",
    title,
    ...(failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={head} current="issues" />
        <h2>{title}</h2>
        {mayWriteIssues(context, head, await loadWriters(context, params)) ? (
          <milestoneForm.Form
            token={session.formToken}
            values={values}
            failed={failed === undefined ? undefined : { text: failed }}
          />
        ) : (
          <p className="notice">Only people with write access may change milestones.</p>
        )}
      </>
    ),
  };
}

async function save(
  context: ForgePageContext,
  { owner, repo }: RepositoryParams,
  id?: string,
): Promise<ForgePageAnswer> {
  const { call, form, session } = context;
  const list = toPath(owner, repo, "milestones");
  if (session === undefined) return toSignIn(list);
  const { due_on: date, description, title } = milestoneForm.read(form);
  const body = {
    title,
    description: description.replaceAll("\r\n", "\n"),
    // A time before 1970 removes the due date.
    due_on: date === "" ? (id === undefined ? null : "1969-12-31T00:00:00Z") : `${date}T00:00:00Z`,
  };
  const refusal = await findRefusal(formRefusals, async () => {
    if (title === "") throw new AppError("unprocessable", "The title is missing.");
    if (id === undefined)
      await call(milestoneEndpoints.createMilestone, { params: { owner, repo }, body });
    else await call(milestoneEndpoints.editMilestone, { params: { owner, repo, id }, body });
  });
  if (refusal !== undefined)
    return showForm(context, { owner, repo }, { id, failed: toSentence(refusal) });
  return { kind: "redirect", to: list };
}

/** Runs the work of a button and shows the milestones again. */
async function change(
  context: ForgePageContext,
  params: MilestoneParams,
  work: (context: ForgePageContext, params: MilestoneParams) => Promise<unknown>,
): Promise<ForgePageAnswer> {
  const list = toPath(params.owner, params.repo, "milestones");
  if (context.session === undefined) return toSignIn(list);
  await work(context, params);
  return { kind: "redirect", to: list };
}

async function setState({ call, form }: ForgePageContext, params: MilestoneParams) {
  const body = { state: form.get("state") ?? "" };
  await call(milestoneEndpoints.editMilestone, { params, body });
}

async function deleteMilestone({ call }: ForgePageContext, params: MilestoneParams) {
  await call(milestoneEndpoints.deleteMilestone, { params });
}
