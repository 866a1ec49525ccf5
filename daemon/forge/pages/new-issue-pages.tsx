import {
  issueTemplateEndpoints,
  type WireIssueConfig,
  type WireIssueTemplate,
} from "../../contract/forge/code/issue-templates.ts";
import { attachmentEndpoints } from "../../contract/forge/issues/attachments.ts";
import { issueEndpoints } from "../../contract/forge/issues/issues.ts";
import type { WireRepository } from "../../contract/forge/repositories/repositories.ts";
import { EmptyState } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { get, post, toPath } from "../../pages/page.ts";
import type { Compute } from "../compute.ts";
import { notFound } from "../refusals.ts";
import { attachFiles } from "./attach-files.ts";
import { Label } from "./elements.tsx";
import { matchFieldPattern } from "./field-pattern.ts";
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
import { findFieldFault, TemplateFields, toIssueText } from "./issue-form.tsx";
import { showIssue } from "./issue-page.tsx";
import { loadLabels, loadWriters, mayWriteIssues } from "./planning.ts";
import { loadHead, RepositoryHead } from "./repository-head.tsx";
import {
  FilePicker,
  FormResult,
  readText,
  renderComment,
  type ShownForm,
  TextButtons,
  TextField,
} from "./texts.tsx";

const NEW = "/:owner/:repo/issues/new";

/** The choice of a template, and the form of a new issue. */
export function newIssuePages(compute: Compute): ForgePageRoute[] {
  const takesFiles = { takesFiles: true } as const;
  return [
    get(`${NEW}/choose`, showChoice),
    get(NEW, showNew),
    post(NEW, (context, params) => create(context, params, compute), takesFiles),
    post(`${NEW}/preview`, previewNew, takesFiles),
    get(`${NEW}/preview`, async (_context, { owner, repo }) => ({
      kind: "redirect",
      to: toPath(owner, repo, "issues", "new"),
    })),
  ];
}

interface Templates {
  readonly templates: readonly WireIssueTemplate[];
  readonly config: WireIssueConfig;
}

/** Loads the templates; none for a caller who may read only the issues, and for an empty repository. */
async function loadTemplates(
  { call }: ForgePageContext,
  { owner, repo }: RepositoryParams,
): Promise<Templates> {
  const params = { owner, repo };
  let found: Templates = {
    templates: [],
    config: { blank_issues_enabled: true, contact_links: [] },
  };
  await findRefusal(["not_found"], async () => {
    const { body: templates } = await call(issueTemplateEndpoints.listIssueTemplates, { params });
    const { body: config } = await call(issueTemplateEndpoints.getIssueConfig, { params });
    found = { templates, config };
  });
  return found;
}

/** Opens the repository for a new issue. */
async function openNew(context: ForgePageContext, params: RepositoryParams) {
  const head = await loadHead(context, params);
  if (!head.has_issues) throw notFound();
  return head;
}

async function showChoice(context: ForgePageContext, params: RepositoryParams) {
  const head = await openNew(context, params);
  const { templates, config } = await loadTemplates(context, params);
  const form = toPath(params.owner, params.repo, "issues", "new");
  if (templates.length === 0 && config.contact_links.length === 0)
    return { kind: "redirect", to: `${form}?${new URLSearchParams({ template: "" })}` } as const;
  // What the address gives to the form stays for the chosen template.
  const toForm = (template: string) => {
    const query = new URLSearchParams(context.request.query);
    query.set("template", template);
    return `${form}?${query}`;
  };
  return {
    kind: "page",
    title: `New issue in ${head.full_name}`,
    body: (
      <>
        <RepositoryHead repository={head} current="issues" />
        <h2>What is it about?</h2>
        <ul className="list">
          {templates.map(({ file_name: file, name, about, labels }) => (
            <li key={file}>
              <a className="heading" href={toForm(file)}>
                <bdi>{name}</bdi>
              </a>{" "}
              {(labels ?? []).map((label) => (
                <span key={label} className="label">
                  <bdi>{label}</bdi>
                </span>
              ))}
              <p className="quiet">{about}</p>
            </li>
          ))}
          {config.contact_links.map(({ name, url, about }, at) => (
            <li key={at}>
              {/^https?:/i.test(url) || url.startsWith("mailto:") ? (
                <a className="heading" href={url} rel="nofollow noopener">
                  <bdi>{name}</bdi>
                </a>
              ) : (
                <bdi>{`${name}: ${url}`}</bdi>
              )}
              <p className="quiet">{about}</p>
            </li>
          ))}
          {config.blank_issues_enabled ? (
            <li>
              <a className="heading" href={toForm("")}>
                Something else
              </a>
              <p className="quiet">An issue without a template</p>
            </li>
          ) : null}
        </ul>
      </>
    ),
  } as const;
}

/** Shows the form; first the choice of a template if there is one and the address names none. */
async function showNew(
  context: ForgePageContext,
  params: RepositoryParams,
): Promise<ForgePageAnswer> {
  const { query, target } = context.request;
  if (context.session === undefined) return toSignIn(target);
  const head = await openNew(context, params);
  const found = await loadTemplates(context, params);
  const isChosen = query.has("template") || !(found.templates.length > 0);
  const choice = `${toPath(params.owner, params.repo, "issues", "new", "choose")}?${query}`;
  if (!isChosen) return { kind: "redirect", to: choice };
  const { config } = found;
  const isBlank = findTemplate(context, found) === undefined;
  if (isBlank && !config.blank_issues_enabled && found.templates.length > 0)
    return { kind: "redirect", to: choice };
  return showForm(context, { head, found });
}

/** Returns the template that the address names, by its path or the name of its file. */
function findTemplate({ request }: ForgePageContext, { templates }: Templates) {
  const name = request.query.get("template") ?? "";
  if (name === "") return undefined;
  return templates.find(({ file_name: path }) => path === name || path.endsWith(`/${name}`));
}

async function showForm(
  context: ForgePageContext,
  { head, found }: { readonly head: WireRepository; readonly found: Templates },
  shown?: ShownForm,
): Promise<ForgePageAnswer> {
  const { request, session, form } = context;
  const { query } = request;
  const template = findTemplate(context, found);
  const { owner, name } = head;
  const fields = template?.body ?? undefined;
  const html = await Promise.all(
    (fields ?? []).map(async ({ type, attributes }) => {
      if (type !== "markdown") return undefined;
      return renderComment(context, head.full_name, String(attributes?.["value"] ?? ""));
    }),
  );
  const writers = await loadWriters(context, { owner: owner.login, repo: name });
  const mayWrite = mayWriteIssues(context, head, writers);
  const chosen = new Set(
    shown === undefined
      ? [...(template?.labels ?? []), ...(query.get("labels") ?? "").split(",")]
      : form.getAll("label"),
  );
  const labels = mayWrite ? await loadLabels(context, head) : [];
  const action = toPath(owner.login, name, "issues", "new");
  const kept = `?${new URLSearchParams({ template: query.get("template") ?? "" })}`;
  const choice = `${action}/choose`;
  const title =
    shown === undefined
      ? (query.get("title") ?? template?.title ?? "")
      : readText(context, "title");
  const text =
    shown === undefined ? (query.get("body") ?? template?.content ?? "") : readText(context);
  return {
    kind: "page",
    title: `New issue in ${head.full_name}`,
    ...(shown?.failed === undefined ? {} : { status: 422 }),
    body: (
      <>
        <RepositoryHead repository={head} current="issues" />
        <h2>{template === undefined ? "New issue" : <bdi>{template.name}</bdi>}</h2>
        {template === undefined ? null : (
          <p className="quiet">
            {template.about} · <a href={choice}>Choose another template</a>
          </p>
        )}
        {head.archived ? (
          <p className="notice">This repository is archived: no issue can be opened.</p>
        ) : (
          <Form
            action={`${action}${kept}`}
            token={session?.formToken}
            className="wide"
            encType="multipart/form-data"
          >
            <label>
              <span className="needed">Title</span>
              <input name="title" required maxLength={255} defaultValue={title} data-draft="" />
            </label>
            {fields === undefined ? (
              <TextField label="Text, in Markdown" value={text} shown={shown} />
            ) : (
              <>
                <FormResult shown={shown} />
                <TemplateFields
                  fields={fields}
                  form={shown === undefined ? undefined : form}
                  html={html}
                />
              </>
            )}
            {labels.length === 0 ? null : (
              <details open={chosen.size > 1}>
                <summary>Labels</summary>
                <ul className="choices">
                  {labels.map((label) => (
                    <li key={label.id}>
                      <label>
                        <input
                          type="checkbox"
                          name="label"
                          value={label.name}
                          defaultChecked={chosen.has(label.name)}
                        />
                        <Label label={label} />
                      </label>
                    </li>
                  ))}
                </ul>
              </details>
            )}
            <TextButtons submit="Open issue" preview={`${action}/preview${kept}`} />
            <FilePicker />
          </Form>
        )}
        {mayWrite || head.archived ? null : (
          <EmptyState>People with write access add labels and assign the issue.</EmptyState>
        )}
      </>
    ),
  };
}

/** Reads the text of the form: that of the template's fields, or the one field. */
function readBody(context: ForgePageContext, template: WireIssueTemplate | undefined): string {
  return template?.body === null || template === undefined
    ? readText(context)
    : toIssueText(template.body, context);
}

async function previewNew(
  context: ForgePageContext,
  params: RepositoryParams,
): Promise<ForgePageAnswer> {
  if (context.session === undefined)
    return toSignIn(toPath(params.owner, params.repo, "issues", "new"));
  const head = await openNew(context, params);
  const found = await loadTemplates(context, params);
  const text = readBody(context, findTemplate(context, found));
  const html = await renderComment(context, head.full_name, text);
  return showForm(context, { head, found }, { of: "new", preview: { html, text } });
}

async function create(
  context: ForgePageContext,
  params: RepositoryParams,
  compute: Compute,
): Promise<ForgePageAnswer> {
  const { call, session, form } = context;
  if (session === undefined) return toSignIn(toPath(params.owner, params.repo, "issues", "new"));
  const head = await openNew(context, params);
  const found = await loadTemplates(context, params);
  const template = findTemplate(context, found);
  const account = String(session.caller.user.id);
  const matches = async (pattern: string, value: string) => {
    const outcome = await compute.run(matchFieldPattern, { pattern, value }, account);
    // A pattern without a bound is a fault of the template, not of the person.
    return outcome.kind === "exceeded" || outcome.value;
  };
  const fault =
    (form.get("title") ?? "").trim() === ""
      ? "The title is missing."
      : await findFieldFault(template?.body ?? [], context, matches);
  if (fault !== undefined) return showForm(context, { head, found }, { of: "new", failed: fault });
  const names = new Set(form.getAll("label"));
  const writers = new Set((await loadWriters(context, params)).map(({ login }) => login));
  let number: number | undefined;
  const refusal = await findRefusal(formRefusals, async () => {
    const labels = (await loadLabels(context, head)).filter(({ name }) => names.has(name));
    const body = {
      title: (form.get("title") ?? "").trim(),
      body: readBody(context, template),
      ref: (template?.ref ?? "").replace(/^refs\/heads\/$/, ""),
      labels: labels.map(({ id }) => id),
      // A template may be older than the rights of a person whom it names.
      assignees: (template?.assignees ?? []).filter((name) => writers.has(name)),
    };
    number = (await call(issueEndpoints.createIssue, { params, body })).body.number;
    const at = { ...params, index: String(number) };
    await attachFiles(context, attachmentEndpoints.createIssueAttachment, at);
  });
  if (number === undefined)
    return showForm(
      context,
      { head, found },
      {
        of: "new",
        failed: refusal === undefined ? "" : toSentence(refusal),
      },
    );
  const index = String(number);
  if (refusal !== undefined) {
    const failed = `The issue is open, but ${toSentence(refusal)}`;
    return showIssue(context, { ...params, index }, { of: "box", failed });
  }
  return { kind: "redirect", to: toPath(params.owner, params.repo, "issues", index) };
}
