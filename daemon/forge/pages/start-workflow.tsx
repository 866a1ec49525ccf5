import {
  type WireDispatchInput,
  workflowEndpoints,
} from "../../contract/forge/actions/workflows.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { Alert, Menu } from "../../pages/elements.tsx";
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
import { mayStart, type ShowAgain } from "./run-actions.tsx";

/** The names of the fields of inputs begin with it. */
const INPUT = "input.";

/**
 * The form that starts a workflow by its event `workflow_dispatch`: first the choice of the workflow and the branch, then its
 * inputs as the file of that branch declares them.
 */
export async function loadStartForm(
  { call, session, form, request }: ForgePageContext,
  repository: WireRepository,
) {
  if (!mayStart(session, repository) || repository.empty) return null;
  const params = { owner: repository.owner.login, repo: repository.name };
  const { body } = await call(workflowEndpoints.listWorkflows, { params });
  const active = body.workflows.filter(({ state }) => state === "active");
  if (active.length === 0) return null;
  const workflow = form.get("workflow") ?? request.query.get("workflow") ?? "";
  const ref = form.get("ref") ?? request.query.get("ref") ?? repository.default_branch;
  const inputs: { list?: readonly WireDispatchInput[] } = {};
  const refusal =
    workflow === ""
      ? undefined
      : await findRefusal(formRefusals, async () => {
          inputs.list = (
            await call(workflowEndpoints.listDispatchInputs, {
              params: { ...params, workflow_id: workflow },
              query: { ref },
            })
          ).body;
        });
  const runs = `${toPath(params.owner, params.repo)}/actions`;
  return (
    <Menu name="Start a workflow" isOpen={workflow !== ""}>
      <form method="get" action={runs} className="stack">
        <label>
          Workflow
          <select name="workflow" defaultValue={workflow}>
            {active.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Branch or tag
          <input name="ref" required maxLength={255} defaultValue={ref} />
        </label>
        <div>
          <button type="submit">Choose</button>
        </div>
      </form>
      <Alert text={refusal && toSentence(refusal)} />
      {inputs.list === undefined ? null : (
        <Form action={`${runs}/start`} token={session?.formToken} className="stack">
          <input type="hidden" name="workflow" value={workflow} />
          <input type="hidden" name="ref" value={ref} />
          {inputs.list.map((input) => (
            <InputField key={input.name} input={input} form={form} />
          ))}
          <div>
            <button type="submit" className="primary">
              {`Start ${active.find(({ id }) => id === workflow)?.name ?? workflow} on ${ref}`}
            </button>
          </div>
        </Form>
      )}
    </Menu>
  );
}

function InputField({ input, form }: { input: WireDispatchInput; form: URLSearchParams }) {
  const { name, description, type, required, options } = input;
  const isSent = form.has("workflow");
  const value = isSent ? (form.getAll(INPUT + name).at(-1) ?? "") : input.default;
  const label = description === "" ? name : `${description} (${name})`;
  const common = { name: INPUT + name, required, defaultValue: value };
  if (type === "boolean")
    return (
      <label className="check">
        <input type="hidden" name={INPUT + name} value="false" />
        <input
          type="checkbox"
          name={INPUT + name}
          value="true"
          defaultChecked={value === "true"}
        />{" "}
        {label}
      </label>
    );
  return (
    <label>
      {label}
      {type === "choice" ? (
        <select {...common}>
          {required && options.includes(input.default) ? null : <option value="">–</option>}
          {options.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      ) : type === "number" ? (
        <input {...common} type="number" step="any" />
      ) : (
        <input {...common} maxLength={65_535} />
      )}
    </label>
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
        body: { ref: form.get("ref") ?? "", inputs: readInputs(form) },
      });
      if (answer.status === 200) to = `${home}/runs/${answer.body.workflow_run_id}`;
    });
    if (refusal !== undefined) return show(context, params, toSentence(refusal));
    return { kind: "redirect", to };
  };
}

/** Returns the inputs of a form. A box that is ticked follows the hidden field that says it is not. */
function readInputs(form: URLSearchParams): Record<string, string> {
  const given = [...form].filter(([name]) => name.startsWith(INPUT));
  return Object.fromEntries(given.map(([name, value]) => [name.slice(INPUT.length), value]));
}
