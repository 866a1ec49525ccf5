import { z } from "zod";
import { anyoneWithin, bytes, empty, endpoint, forgeUser, multipart } from "../../endpoint.ts";
import {
  apiError,
  optionalText,
  pathInteger,
  queryText,
  signedInReplies,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";

/** A file of an issue or a comment. */
export const attachmentShape = z.object({
  id: wireId,
  name: z.string(),
  size: z.int(),
  download_count: z.int(),
  created_at: wireTime,
  uuid: z.string(),
  browser_download_url: z.string(),
});
export type WireAttachment = z.output<typeof attachmentShape>;

const issueParams = repositoryParams.extend({ index: pathInteger });
const commentParams = repositoryParams.extend({ id: pathInteger });
const attachment = { attachment: pathInteger };
const issuePath = "/api/v1/repos/:owner/:repo/issues/:index/assets";
const commentPath = "/api/v1/repos/:owner/:repo/issues/comments/:id/assets";
const lookupReplies = { ...signedInReplies, 404: apiError } as const;
const changed = { ...lookupReplies, 422: apiError, 423: apiError } as const;
const uploaded = { 201: attachmentShape, 400: apiError, ...changed, 413: apiError } as const;
/** The name in the query counts before that of the file. */
const uploadQuery = z.object({ name: queryText });
const uploadBody = multipart(z.object({}));
const editBody = z.object({ name: optionalText() });

export const listIssueAttachments = endpoint({
  name: "forge.issues.attachments.list",
  method: "GET",
  path: issuePath,
  summary: "The files of an issue, oldest first",
  gate: anyoneWithin("issue"),
  params: issueParams,
  replies: { 200: z.array(attachmentShape), ...lookupReplies },
});

export const createIssueAttachment = endpoint({
  name: "forge.issues.attachments.create",
  method: "POST",
  path: issuePath,
  summary: "Attach a file to an issue: the part attachment of a form",
  gate: forgeUser("issue"),
  params: issueParams,
  query: uploadQuery,
  body: uploadBody,
  replies: uploaded,
});

export const getIssueAttachment = endpoint({
  name: "forge.issues.attachments.get",
  method: "GET",
  path: `${issuePath}/:attachment`,
  summary: "A file of an issue",
  gate: anyoneWithin("issue"),
  params: issueParams.extend(attachment),
  replies: { 200: attachmentShape, ...lookupReplies },
});

export const editIssueAttachment = endpoint({
  name: "forge.issues.attachments.edit",
  method: "PATCH",
  path: `${issuePath}/:attachment`,
  summary: "Rename a file of an issue",
  gate: forgeUser("issue"),
  params: issueParams.extend(attachment),
  body: editBody,
  replies: { 201: attachmentShape, ...changed },
});

export const deleteIssueAttachment = endpoint({
  name: "forge.issues.attachments.delete",
  method: "DELETE",
  path: `${issuePath}/:attachment`,
  summary: "Delete a file of an issue",
  gate: forgeUser("issue"),
  params: issueParams.extend(attachment),
  replies: { 204: empty, ...changed },
});

export const listCommentAttachments = endpoint({
  name: "forge.issues.comments.attachments.list",
  method: "GET",
  path: commentPath,
  summary: "The files of a comment, oldest first",
  gate: anyoneWithin("issue"),
  params: commentParams,
  replies: { 200: z.array(attachmentShape), ...lookupReplies },
});

export const createCommentAttachment = endpoint({
  name: "forge.issues.comments.attachments.create",
  method: "POST",
  path: commentPath,
  summary: "Attach a file to a comment: the part attachment of a form",
  gate: forgeUser("issue"),
  params: commentParams,
  query: uploadQuery,
  body: uploadBody,
  replies: uploaded,
});

export const getCommentAttachment = endpoint({
  name: "forge.issues.comments.attachments.get",
  method: "GET",
  path: `${commentPath}/:attachment`,
  summary: "A file of a comment",
  gate: anyoneWithin("issue"),
  params: commentParams.extend(attachment),
  replies: { 200: attachmentShape, ...lookupReplies },
});

export const editCommentAttachment = endpoint({
  name: "forge.issues.comments.attachments.edit",
  method: "PATCH",
  path: `${commentPath}/:attachment`,
  summary: "Rename a file of a comment",
  gate: forgeUser("issue"),
  params: commentParams.extend(attachment),
  body: editBody,
  replies: { 201: attachmentShape, ...changed },
});

export const deleteCommentAttachment = endpoint({
  name: "forge.issues.comments.attachments.delete",
  method: "DELETE",
  path: `${commentPath}/:attachment`,
  summary: "Delete a file of a comment",
  gate: forgeUser("issue"),
  params: commentParams.extend(attachment),
  replies: { 204: empty, ...changed },
});

export const downloadAttachment = endpoint({
  name: "forge.attachments.download",
  method: "GET",
  path: "/attachments/:uuid",
  summary:
    "The bytes of a file, for those who may read its issue; a session of the pages counts, too",
  gate: anyoneWithin("issue"),
  params: z.object({ uuid: z.string() }),
  replies: { 200: bytes, ...lookupReplies, 503: apiError },
});

export const attachmentEndpoints = {
  listIssueAttachments,
  createIssueAttachment,
  getIssueAttachment,
  editIssueAttachment,
  deleteIssueAttachment,
  listCommentAttachments,
  createCommentAttachment,
  getCommentAttachment,
  editCommentAttachment,
  deleteCommentAttachment,
  downloadAttachment,
};
