import { assigneeEndpoints } from "../../contract/forge/issues/assignees.ts";
import { attachmentEndpoints } from "../../contract/forge/issues/attachments.ts";
import { issueDependencyEndpoints } from "../../contract/forge/issues/dependencies.ts";
import { issueStateEndpoints } from "../../contract/forge/issues/issue-states.ts";
import { issueEndpoints } from "../../contract/forge/issues/issues.ts";
import { labelEndpoints } from "../../contract/forge/issues/labels.ts";
import { reactionEndpoints } from "../../contract/forge/issues/reactions.ts";
import { trackedTimeEndpoints } from "../../contract/forge/issues/tracked-times.ts";
import { AppError } from "../../errors.ts";
import { notFound } from "../refusals.ts";
import { get, post, toPageNumber, toPath } from "../../pages/page.ts";
import { attachFiles } from "./attach-files.ts";
import {
  findRefusal,
  formRefusals,
  type ForgePageAnswer,
  type ForgePageContext,
  type ForgePageRoute,
  toSentence,
  toSignIn,
} from "./forge-page.ts";
import { toIssuePath } from "./issue-list.tsx";
import { showIssue } from "./issue-page.tsx";
import type { IssueParams } from "./issue-work.ts";
import { showPull } from "./pull-pages.tsx";
import { readText, renderComment, type ShownForm, tickTasks, toTextVersion } from "./texts.tsx";
import { ENTRIES_SHOWN } from "./timeline.tsx";

const ISSUE = "/:owner/:repo/issues/:index";
const COMMENT = `${ISSUE}/comments/:id` as const;
type CommentParams = IssueParams & { readonly id: string };

/** Pages of an issue and the forms on it, which serve the pages of pull requests, too. */
export function issueActionPages(): ForgePageRoute[] {
  const takesFiles = { takesFiles: true } as const;
  return [
    get(ISSUE, (context, params) => showIssue(context, params)),
    // A form that was refused is shown at its own address, which a browser may open again.
    get(`${ISSUE}/**:rest`, async (_context, { owner, repo, index }) => ({
      kind: "redirect",
      to: toPath(owner, repo, "issues", index),
    })),
    post(`${ISSUE}/comments`, (context, params) => comment(context, params), takesFiles),
    post("/:owner/:repo/pulls/:index/comments", (...at) => comment(...at), takesFiles),
    post(`${ISSUE}/comments/close`, (...at) => comment(...at, "closed"), takesFiles),
    post(`${ISSUE}/comments/reopen`, (...at) => comment(...at, "open"), takesFiles),
    post(`${ISSUE}/comments/preview`, (...at) => preview(...at, "comment"), takesFiles),
    post(`${ISSUE}/edit`, (...at) => submit(...at, "text", editText)),
    post(`${ISSUE}/edit/preview`, (...at) => preview(...at, "text")),
    post(`${ISSUE}/tasks`, (...at) => submit(...at, "box", tickText)),
    post(`${ISSUE}/reactions`, (...at) => submit(...at, "box", reactToIssue)),
    post(`${ISSUE}/files/:file/delete`, (...at) => submit(...at, "box", removeFile)),
    post(`${COMMENT}/edit`, (context, params) =>
      submit(context, params, `comment-${params.id}`, editComment),
    ),
    post(`${COMMENT}/edit/preview`, (context, params) =>
      preview(context, params, `comment-${params.id}`),
    ),
    post(`${COMMENT}/delete`, (...at) => submit(...at, "box", deleteComment)),
    post(`${COMMENT}/tasks`, (...at) => submit(...at, "box", tickComment)),
    post(`${COMMENT}/reactions`, (...at) => submit(...at, "box", reactToComment)),
    post(`${COMMENT}/files/:file/delete`, (...at) => submit(...at, "box", removeCommentFile)),
    post(`${ISSUE}/labels`, (...at) => submit(...at, "box", setLabels)),
    post(`${ISSUE}/assignees`, (...at) => submit(...at, "box", setAssignees)),
    post(`${ISSUE}/milestone`, (...at) => submit(...at, "box", setMilestone)),
    post(`${ISSUE}/deadline`, (...at) => submit(...at, "box", setDeadline)),
    post(`${ISSUE}/dependencies`, (...at) => submit(...at, "box", changeDependency)),
    post(`${ISSUE}/times`, (...at) => submit(...at, "box", addTime)),
    post(`${ISSUE}/stopwatch`, (...at) => submit(...at, "box", useStopwatch)),
    post(`${ISSUE}/subscription`, (...at) => submit(...at, "box", setSubscription)),
    post(`${ISSUE}/pin`, (...at) => submit(...at, "box", setPin)),
    post(`${ISSUE}/lock`, (...at) => submit(...at, "box", setLock)),
    post(`${ISSUE}/delete`, deleteIssue),
  ];
}

/** Shows the page of an issue or a pull request with the result of a form. */
async function show(
  context: ForgePageContext,
  params: IssueParams,
  shown: ShownForm,
): Promise<ForgePageAnswer> {
  const { body: issue } = await context.call(issueEndpoints.getIssue, { params });
  return issue.pull_request === null
    ? showIssue(context, params, shown)
    : showPull(context, params, shown);
}

/**
 * Runs the work of a form, and leads to the page of the issue, at the anchor that the work returns. Shows a refusal on the
 * page, with the text of the form.
 */
async function submit<Params extends IssueParams>(
  context: ForgePageContext,
  params: Params,
  of: string,
  work: (context: ForgePageContext, params: Params) => Promise<unknown>,
): Promise<ForgePageAnswer> {
  if (context.session === undefined) return toSessionEnd(context, params, of);
  const refusal = await findRefusal(formRefusals, () => work(context, params));
  if (refusal !== undefined)
    return show(context, params, {
      of,
      failed: toSentence(refusal),
      ...(refusal.code === "conflict" || refusal.code === "precondition_failed"
        ? { isConflict: true }
        : {}),
    });
  const { body: issue } = await context.call(issueEndpoints.getIssue, { params });
  const page = toPageNumber(context.request);
  const query = page === 1 ? "" : `?page=${page}`;
  const anchor = of.startsWith("comment-") ? `#issue${of}` : "";
  return { kind: "redirect", to: `${toIssuePath(issue)}${query}${anchor}` };
}

/** The session ended while the person wrote: the page keeps the text where it can still be read. */
async function toSessionEnd(
  context: ForgePageContext,
  params: IssueParams,
  of: string,
): Promise<ForgePageAnswer> {
  const failed = "Your session has ended. Copy your text, sign in and send it again.";
  if (readText(context) === "")
    return toSignIn(toPath(params.owner, params.repo, "issues", params.index));
  return show(context, params, { of: of === "box" ? of : "comment", failed });
}

async function preview(
  context: ForgePageContext,
  params: IssueParams,
  of: string,
): Promise<ForgePageAnswer> {
  const text = readText(context);
  const html = await renderComment(context, `${params.owner}/${params.repo}`, text);
  return show(context, params, { of, preview: { html, text } });
}

/** Adds a comment with its files, and closes or reopens the issue. Either may stand alone. */
async function comment(
  context: ForgePageContext,
  params: IssueParams,
  state?: "open" | "closed",
): Promise<ForgePageAnswer> {
  const { call, session } = context;
  if (session === undefined) return toSessionEnd(context, params, "comment");
  const body = readText(context);
  let id: number | undefined;
  const refusal = await findRefusal(formRefusals, async () => {
    if (body.trim() === "" && state === undefined)
      throw new AppError("unprocessable", "The comment has no text.");
    if (body.trim() !== "") {
      id = (await call(issueEndpoints.createIssueComment, { params, body: { body } })).body.id;
      const at = { owner: params.owner, repo: params.repo, id: String(id) };
      await attachFiles(context, attachmentEndpoints.createCommentAttachment, at);
    }
    if (state !== undefined) await call(issueEndpoints.editIssue, { params, body: { state } });
  });
  if (refusal !== undefined) {
    const text = toSentence(refusal);
    return id === undefined
      ? show(context, params, { of: "comment", failed: text })
      : show(context, params, {
          of: "comment",
          failed: `Your comment was added, but then: ${text}`,
          isSent: true,
        });
  }
  const { body: issue } = await call(issueEndpoints.getIssue, { params });
  const { total = 1 } = await call(issueStateEndpoints.listIssueTimeline, {
    params,
    query: { limit: "1" },
  });
  const page = Math.max(1, Math.ceil(total / ENTRIES_SHOWN));
  const anchor = id === undefined ? "" : `#issuecomment-${id}`;
  return { kind: "redirect", to: `${toIssuePath(issue)}?page=${page}${anchor}` };
}

const toChanged = () =>
  new AppError(
    "conflict",
    "The text has changed since you opened this page. Look at it, then save yours again to replace it.",
  );

async function editText(context: ForgePageContext, params: IssueParams): Promise<void> {
  const { call, form } = context;
  const title = (form.get("title") ?? "").trim();
  if (title === "") throw new AppError("unprocessable", "The title is missing.");
  const { body: issue } = await call(issueEndpoints.getIssue, { params });
  if (toTextVersion(issue.body) !== form.get("version")) throw toChanged();
  const body = { title, body: readText(context), content_version: issue.content_version };
  await call(issueEndpoints.editIssue, { params, body });
}

async function tickText(context: ForgePageContext, params: IssueParams): Promise<void> {
  const { call, form } = context;
  const { body: issue } = await call(issueEndpoints.getIssue, { params });
  if (toTextVersion(issue.body) !== form.get("version")) throw toChanged();
  const body = { body: readTicked(context, issue.body), content_version: issue.content_version };
  await call(issueEndpoints.editIssue, { params, body });
}

function readTicked({ form }: ForgePageContext, text: string): string {
  const positions = (form.get("positions") ?? "").split(",");
  return tickTasks(text, positions, new Set(form.getAll("task")));
}

async function editComment(context: ForgePageContext, params: CommentParams): Promise<void> {
  await replaceComment(context, params, readText(context));
}

async function tickComment(context: ForgePageContext, params: CommentParams): Promise<void> {
  const found = await context.call(issueEndpoints.getIssueComment, {
    params: toCommentPath(params),
  });
  if (found.status !== 200) throw notFound();
  await replaceComment(context, params, readTicked(context, found.body.body));
}

const toCommentPath = ({ owner, repo, id }: CommentParams) => ({ owner, repo, id });

/** Replaces the text of a comment if it is still the one that the form was made for. */
async function replaceComment(
  { call, form }: ForgePageContext,
  params: CommentParams,
  body: string,
): Promise<void> {
  const headers = { "if-match": `"${form.get("version") ?? ""}"` };
  const input = { params: toCommentPath(params), body: { body }, headers };
  const refusal = await findRefusal(["precondition_failed"], () =>
    call(issueEndpoints.editIssueComment, input),
  );
  if (refusal !== undefined) throw toChanged();
}

async function deleteComment({ call }: ForgePageContext, params: CommentParams): Promise<void> {
  await call(issueStateEndpoints.deleteIssueComment, { params: toCommentPath(params) });
}

async function reactToIssue({ call, form }: ForgePageContext, params: IssueParams): Promise<void> {
  const body = { content: form.get("add") ?? form.get("remove") ?? "" };
  const operation = form.has("add")
    ? reactionEndpoints.addIssueReaction
    : reactionEndpoints.removeIssueReaction;
  await call(operation, { params, body });
}

async function reactToComment(
  { call, form }: ForgePageContext,
  params: CommentParams,
): Promise<void> {
  const body = { content: form.get("add") ?? form.get("remove") ?? "" };
  const operation = form.has("add")
    ? reactionEndpoints.addCommentReaction
    : reactionEndpoints.removeCommentReaction;
  await call(operation, { params: toCommentPath(params), body });
}

async function removeFile(
  { call }: ForgePageContext,
  { owner, repo, index, file }: IssueParams & { readonly file: string },
): Promise<void> {
  const params = { owner, repo, index, attachment: file };
  await call(attachmentEndpoints.deleteIssueAttachment, { params });
}

async function removeCommentFile(
  { call }: ForgePageContext,
  { file, ...params }: CommentParams & { readonly file: string },
): Promise<void> {
  const path = { ...toCommentPath(params), attachment: file };
  await call(attachmentEndpoints.deleteCommentAttachment, { params: path });
}

/** The names or ids that a form adds and removes, so that those which others chose meanwhile stay. */
export function readChoice({ form }: Pick<ForgePageContext, "form">, field: string) {
  const had = new Set((form.get("had") ?? "").split(",").filter((each) => each !== ""));
  const chosen = new Set(form.getAll(field));
  return { added: [...chosen.difference(had)], removed: [...had.difference(chosen)] };
}

async function setLabels(context: ForgePageContext, params: IssueParams): Promise<void> {
  const { added, removed } = readChoice(context, "label");
  const { call } = context;
  for (const id of removed)
    await call(labelEndpoints.removeIssueLabel, { params: { ...params, id } });
  if (added.length > 0)
    await call(labelEndpoints.addIssueLabels, { params, body: { labels: added.map(Number) } });
}

async function setAssignees(context: ForgePageContext, params: IssueParams): Promise<void> {
  const { added, removed } = readChoice(context, "assignee");
  const { call, form } = context;
  const other = (form.get("other") ?? "").trim().replace(/^@/, "");
  const names = other === "" ? added : [...added, other];
  if (names.length > 0)
    await call(assigneeEndpoints.addIssueAssignees, { params, body: { assignees: names } });
  if (removed.length > 0)
    await call(assigneeEndpoints.removeIssueAssignees, { params, body: { assignees: removed } });
}

async function setMilestone({ call, form }: ForgePageContext, params: IssueParams): Promise<void> {
  const body = { milestone: Number(form.get("milestone") ?? 0) };
  await call(issueEndpoints.editIssue, { params, body });
}

async function setDeadline({ call, form }: ForgePageContext, params: IssueParams): Promise<void> {
  const date = form.get("date") ?? "";
  const body = { due_date: date === "" ? null : `${date}T00:00:00Z` };
  await call(issueStateEndpoints.setIssueDeadline, { params, body });
}

/** Reads `#7`, `7` or `owner/name#7`. */
function readReference(text: string) {
  const [, owner, repo, number] = /^(?:([\w.-]+)\/([\w.-]+))?#?(\d{1,15})$/.exec(text.trim()) ?? [];
  if (number === undefined)
    throw new AppError("unprocessable", "Name an issue as #7, or as owner/name#7.");
  const index = Number(number);
  return owner === undefined || repo === undefined ? { index } : { index, owner, repo };
}

async function changeDependency(
  { call, form }: ForgePageContext,
  params: IssueParams,
): Promise<void> {
  const isBlocker = form.has("blocker");
  const body = readReference(form.get(isBlocker ? "blocker" : "blocked") ?? "");
  const { addIssueDependency, removeIssueDependency, blockIssue, unblockIssue } =
    issueDependencyEndpoints;
  if (form.get("remove") === "yes")
    await call(isBlocker ? removeIssueDependency : unblockIssue, { params, body });
  else await call(isBlocker ? addIssueDependency : blockIssue, { params, body });
}

async function addTime({ call, form }: ForgePageContext, params: IssueParams): Promise<void> {
  const body = { time: Math.round(Number(form.get("minutes") ?? 0) * 60) };
  await call(trackedTimeEndpoints.addIssueTime, { params, body });
}

async function useStopwatch({ call, form }: ForgePageContext, params: IssueParams): Promise<void> {
  const { startStopwatch, stopStopwatch } = trackedTimeEndpoints;
  await call(form.get("do") === "stop" ? stopStopwatch : startStopwatch, { params });
}

async function setSubscription(
  { call, form, session }: ForgePageContext,
  params: IssueParams,
): Promise<void> {
  const { subscribeToIssue, unsubscribeFromIssue } = issueEndpoints;
  const path = { ...params, user: session?.caller.user.name ?? "" };
  const operation = form.get("subscribed") === "yes" ? subscribeToIssue : unsubscribeFromIssue;
  await call(operation, { params: path });
}

async function setPin({ call, form }: ForgePageContext, params: IssueParams): Promise<void> {
  const { pinIssue, unpinIssue } = issueStateEndpoints;
  await call(form.get("pinned") === "yes" ? pinIssue : unpinIssue, { params });
}

async function setLock({ call, form }: ForgePageContext, params: IssueParams): Promise<void> {
  const { lockIssue, unlockIssue } = issueStateEndpoints;
  if (form.get("locked") === "yes")
    await call(lockIssue, { params, body: { lock_reason: form.get("reason") ?? "" } });
  else await call(unlockIssue, { params });
}

async function deleteIssue(
  context: ForgePageContext,
  params: IssueParams,
): Promise<ForgePageAnswer> {
  const list = toPath(params.owner, params.repo, "issues");
  if (context.session === undefined) return toSignIn(list);
  const refusal = await findRefusal(formRefusals, () =>
    context.call(issueStateEndpoints.deleteIssue, { params }),
  );
  if (refusal === undefined) return { kind: "redirect", to: list };
  return show(context, params, { of: "box", failed: toSentence(refusal) });
}
