import { repositoryActionEndpoints } from "../../contract/forge/actions/repository-actions.ts";
import type { WireRun } from "../../contract/forge/actions/shapes.ts";
import { workflowEndpoints } from "../../contract/forge/actions/workflows.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { Menu } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { toPath } from "../../pages/page.ts";
import {
  findRefusal,
  formRefusals,
  type ForgePageAnswer,
  type ForgePageContext,
  type RepositoryParams,
  toSentence,
  toSignIn,
} from "./forge-page.ts";

const runs = repositoryActionEndpoints;
/** The changes of a run by the last part of their address. */
const changes = {
  cancel: runs.cancelRun,
  rerun: runs.rerunRun,
  "rerun-failed": runs.rerunFailedJobs,
  approve: runs.approveRun,
} as const;
export const runChanges = Object.keys(changes) as (keyof typeof changes)[];

type RunParams = RepositoryParams & { readonly run: string };
type ShowAgain<Params> = (
  context: ForgePageContext,
  params: Params,
  failure?: string,
) => Promise<ForgePageAnswer>;

/** Changes a run and shows it again. */
export function changeRun(change: keyof typeof changes, show: ShowAgain<RunParams>) {
  return async (context: ForgePageContext, params: RunParams): Promise<ForgePageAnswer> => {
    const home = toPath(params.owner, params.repo, "actions", "runs", params.run);
    if (context.session === undefined) return toSignIn(home);
    const refusal = await findRefusal(formRefusals, () =>
      context.call(changes[change], { params }),
    );
    if (refusal !== undefined) return show(context, params, toSentence(refusal));
    return { kind: "redirect", to: home };
  };
}

/** The buttons for a run, for those who may write. */
export function RunButtons({
  context: { session },
  repository,
  run,
}: {
  context: ForgePageContext;
  repository: WireRepository;
  run: WireRun;
}) {
  if (!mayStart(session, repository) || run.needs_approval === true) return null;
  const home = toPath(repository.owner.login, repository.name, "actions", "runs", String(run.id));
  const isOver = run.status === "completed";
  const buttons = isOver
    ? ([
        ["rerun", "Run all jobs again"],
        ...(run.conclusion === "success" ? [] : [["rerun-failed", "Run failed jobs again"]]),
      ] as const)
    : ([["cancel", "Cancel"]] as const);
  return (
    <div className="actions">
      {buttons.map(([change, text]) => (
        <Form
          key={change}
          action={`${home}/${change}`}
          token={session?.formToken}
          className="inline"
        >
          <button type="submit">{text}</button>
        </Form>
      ))}
    </div>
  );
}

const mayStart = (session: ForgePageContext["session"], repository: WireRepository) =>
  session !== undefined && repository.permissions?.push === true && !repository.archived;

/** The form that starts a workflow by its event `workflow_dispatch`. */
export async function loadStartForm(
  { call, session, form, request }: ForgePageContext,
  repository: WireRepository,
) {
  if (!mayStart(session, repository) || repository.empty) return null;
  const params = { owner: repository.owner.login, repo: repository.name };
  const { body } = await call(workflowEndpoints.listWorkflows, { params });
  const active = body.workflows.filter(({ state }) => state === "active");
  if (active.length === 0) return null;
  return (
    <Menu name="Start a workflow" isOpen={request.method === "POST"}>
      <Form
        action={`${toPath(params.owner, params.repo)}/actions/start`}
        token={session?.formToken}
        className="stack"
      >
        <label>
          Workflow, which has the event workflow_dispatch
          <select name="workflow" defaultValue={form.get("workflow") ?? ""}>
            {active.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Branch or tag
          <input
            name="ref"
            required
            maxLength={255}
            defaultValue={form.get("ref") ?? repository.default_branch}
          />
        </label>
        <label>
          Inputs, one a line, as in name=value
          <textarea name="inputs" defaultValue={form.get("inputs") ?? ""} />
        </label>
        <div>
          <button type="submit">Start</button>
        </div>
      </Form>
    </Menu>
  );
}

/** Starts a workflow and shows its run. */
export function startWorkflow(show: ShowAgain<RepositoryParams>) {
  return async (context: ForgePageContext, params: RepositoryParams): Promise<ForgePageAnswer> => {
    const { call, form, session } = context;
    const home = toPath(params.owner, params.repo, "actions");
    if (session === undefined) return toSignIn(home);
    let to = home;
    const refusal = await findRefusal(formRefusals, async () => {
      const answer = await call(workflowEndpoints.dispatchWorkflow, {
        params: { ...params, workflow_id: form.get("workflow") ?? "" },
        query: { return_run_details: "true" },
        body: { ref: form.get("ref") ?? "", inputs: toInputs(form.get("inputs") ?? "") },
      });
      if (answer.status === 200) to = `${home}/runs/${answer.body.workflow_run_id}`;
    });
    if (refusal !== undefined) return show(context, params, toSentence(refusal));
    return { kind: "redirect", to };
  };
}

/** Reads lines `name=value`; a line without `=` is an input without a value. */
function toInputs(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const [name = "", ...value] = line.split("=");
      return [name.trim(), value.join("=")];
    }),
  );
}
