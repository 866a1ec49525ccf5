import { labelEndpoints, type WireLabel } from "../../contract/forge/issues/labels.ts";
import { templateEndpoints } from "../../contract/forge/templates.ts";
import { Alert, EmptyState, Menu } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { get, post, toPath } from "../../pages/page.ts";
import { Label } from "./elements.tsx";
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
import { loadLabels, loadWriters, mayWriteIssues } from "./planning.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";

const LABELS = "/:owner/:repo/labels";
type LabelParams = RepositoryParams & { readonly id: string };

/** The labels of a repository. */
export function labelPages(): ForgePageRoute[] {
  return [
    get(LABELS, (context, params) => showLabels(context, params)),
    post(`${LABELS}/new`, (...at) => submit(...at, createLabel)),
    post(`${LABELS}/initialize`, (...at) => submit(...at, addSet)),
    post(`${LABELS}/:id/edit`, (...at) => submit(...at, editLabel)),
    post(`${LABELS}/:id/delete`, (...at) => submit(...at, deleteLabel)),
  ];
}

async function showLabels(context: ForgePageContext, params: RepositoryParams, failed?: string) {
  const { call, session, form } = context;
  const head = await loadHead(context, params);
  const labels = await loadLabels(context, head);
  const mayWrite = mayWriteIssues(context, head, await loadWriters(context, params));
  const sets =
    mayWrite && labels.length === 0 ? (await call(templateEndpoints.listLabelTemplates)).body : [];
  const home = toPath(params.owner, params.repo);
  const token = session?.formToken;
  const prefix = `${head.full_name}/`;
  const isOwn = ({ url }: WireLabel) => url.includes(`/repos/${prefix}`);
  const sent = failed === undefined ? undefined : form;
  return {
    kind: "page",
    title: `Labels of ${head.full_name}`,
    ...(failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={head} current="issues" />
        <h2>
          Labels <span className="count">{labels.length}</span>
        </h2>
        <Alert text={failed} />
        {mayWrite ? (
          <Menu name="New label" isOpen={sent?.has("isNew") === true}>
            <Form action={`${home}/labels/new`} token={token} className="stack">
              <input type="hidden" name="isNew" value="yes" />
              <LabelFields label={sent?.has("isNew") === true ? readLabel(context) : newLabel} />
              <div>
                <button type="submit" className="primary">
                  Create label
                </button>
              </div>
            </Form>
          </Menu>
        ) : null}
        {labels.length === 0 ? (
          <EmptyState command={`croft label create ${head.full_name} bug --color d73a4a`}>
            No labels.
          </EmptyState>
        ) : null}
        {sets.length === 0 ? null : (
          <Form action={`${home}/labels/initialize`} token={token} className="row">
            <select name="template_name" aria-label="Set of labels">
              {sets.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
            <button type="submit">Add this set</button>
          </Form>
        )}
        {labels.length === 0 ? null : (
          <ul className="list" aria-label="Labels">
            {labels.map((label) => (
              <li key={label.id}>
                <Label
                  label={label}
                  href={`${home}/issues?${new URLSearchParams({ labels: label.name })}`}
                />{" "}
                <bdi>{label.description}</bdi>
                <span className="quiet">
                  {label.exclusive ? " · one of its scope" : ""}
                  {label.is_archived ? " · archived" : ""}
                  {isOwn(label) ? "" : " · of the organization"}
                </span>
                {mayWrite && isOwn(label) ? (
                  <LabelForms label={label} home={home} token={token} />
                ) : null}
              </li>
            ))}
          </ul>
        )}
      </>
    ),
  } as const;
}

type LabelValues = Pick<WireLabel, "name" | "color" | "description" | "exclusive" | "is_archived">;
const newLabel: LabelValues = {
  name: "",
  color: "0075ca",
  description: "",
  exclusive: false,
  is_archived: false,
};

function LabelForms({
  label,
  home,
  token,
}: {
  label: WireLabel;
  home: string;
  token: string | undefined;
}) {
  return (
    <div className="tools">
      <Menu name="Edit">
        <Form action={`${home}/labels/${label.id}/edit`} token={token} className="stack">
          <LabelFields label={label} />
          <div>
            <button type="submit">Save label</button>
          </div>
        </Form>
      </Menu>
      <Menu name="Delete">
        <Form action={`${home}/labels/${label.id}/delete`} token={token}>
          <button type="submit" className="danger">
            Delete it and take it off all issues
          </button>
        </Form>
      </Menu>
    </div>
  );
}

function LabelFields({ label }: { label: LabelValues }) {
  return (
    <>
      <label>
        Name; a scope may stand before it, as in priority/high
        <input name="name" required maxLength={50} defaultValue={label.name} />
      </label>
      <label>
        Description
        <input name="description" maxLength={200} defaultValue={label.description} />
      </label>
      <label>
        Colour
        <input type="color" name="color" defaultValue={`#${label.color}`} />
      </label>
      <label className="check">
        <input type="checkbox" name="exclusive" value="yes" defaultChecked={label.exclusive} /> At
        most one label of its scope on an issue
      </label>
      <label className="check">
        <input type="checkbox" name="archived" value="yes" defaultChecked={label.is_archived} />{" "}
        Archived: issues keep it, and no other gets it
      </label>
    </>
  );
}

const readLabel = ({ form }: ForgePageContext): LabelValues => ({
  name: (form.get("name") ?? "").trim(),
  color: (form.get("color") ?? "").replace(/^#/, ""),
  description: (form.get("description") ?? "").trim(),
  exclusive: form.get("exclusive") === "yes",
  is_archived: form.get("archived") === "yes",
});

/** Runs the work of a form and shows the labels again. */
async function submit<Params extends RepositoryParams>(
  context: ForgePageContext,
  params: Params,
  work: (context: ForgePageContext, params: Params) => Promise<unknown>,
): Promise<ForgePageAnswer> {
  const home = toPath(params.owner, params.repo, "labels");
  if (context.session === undefined) return toSignIn(home);
  const refusal = await findRefusal(formRefusals, () => work(context, params));
  if (refusal !== undefined) return showLabels(context, params, toSentence(refusal));
  return { kind: "redirect", to: home };
}

async function createLabel(context: ForgePageContext, params: RepositoryParams): Promise<void> {
  await context.call(labelEndpoints.createLabel, { params, body: readLabel(context) });
}

async function editLabel(context: ForgePageContext, params: LabelParams): Promise<void> {
  await context.call(labelEndpoints.editLabel, { params, body: readLabel(context) });
}

async function deleteLabel({ call }: ForgePageContext, params: LabelParams): Promise<void> {
  await call(labelEndpoints.deleteLabel, { params });
}

/** Adds the labels of a set, without those whose names exist. */
async function addSet(context: ForgePageContext, params: RepositoryParams): Promise<void> {
  const { call, form } = context;
  const name = form.get("template_name") ?? "";
  const { body: labels } = await call(templateEndpoints.getLabelTemplate, { params: { name } });
  const head = await loadHead(context, params);
  const known = new Set((await loadLabels(context, head)).map((label) => label.name));
  for (const body of labels.filter((label) => !known.has(label.name)))
    await call(labelEndpoints.createLabel, { params, body });
}
