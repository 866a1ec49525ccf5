import { z } from "zod";
import { openTo, resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyone, bytes, empty, multipart } from "../../endpoint.ts";
import { optionalText, pathInteger, queryText, wireId, wireTime } from "../common.ts";
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
/** The name in the query counts before that of the file. */
const uploadQuery = z.object({ name: queryText });
const uploadBody = multipart(z.object({}));
const editBody = z.object({ name: optionalText() });

export const attachmentEndpoints = {
  ...resource(
    {
      name: "forge.issues.attachments",
      path: "/api/v1/repos/:owner/:repo/issues/:index/assets",
      params: issueParams,
      id: attachment,
      shape: attachmentShape,
      gate: openTo("issue"),
      on: {
        read: repository("issues_or_pulls", "read"),
        change: repository("issues_or_pulls", "write", { checkedBy: "service" }),
      },
    },
    ({ create, get, remove, operation }) => ({
      listIssueAttachments: operation({
        as: "list",
        method: "GET",
        summary: "The files of an issue, oldest first",
        replies: { 200: z.array(attachmentShape) },
      }),
      createIssueAttachment: create(
        "Attach a file to an issue: the part attachment of a form",
        uploadBody,
        { query: uploadQuery, refuses: [400, 413] },
      ),
      getIssueAttachment: get("A file of an issue"),
      editIssueAttachment: operation({
        as: "edit",
        method: "PATCH",
        item: true,
        summary: "Rename a file of an issue",
        body: editBody,
        replies: { 201: attachmentShape },
      }),
      deleteIssueAttachment: remove("Delete a file of an issue"),
    }),
  ),
  ...resource(
    {
      name: "forge.issues.comments.attachments",
      path: "/api/v1/repos/:owner/:repo/issues/comments/:id/assets",
      params: commentParams,
      id: attachment,
      shape: attachmentShape,
      gate: openTo("issue"),
      on: {
        read: repository("issues_or_pulls", "read"),
        change: repository("issues_or_pulls", "write", { checkedBy: "service" }),
      },
    },
    ({ create, get, remove, operation }) => ({
      listCommentAttachments: operation({
        as: "list",
        method: "GET",
        summary: "The files of a comment, oldest first",
        replies: { 200: z.array(attachmentShape) },
      }),
      createCommentAttachment: create(
        "Attach a file to a comment: the part attachment of a form",
        uploadBody,
        { query: uploadQuery, refuses: [400, 413] },
      ),
      getCommentAttachment: get("A file of a comment"),
      editCommentAttachment: operation({
        as: "edit",
        method: "PATCH",
        item: true,
        summary: "Rename a file of a comment",
        body: editBody,
        replies: { 201: attachmentShape },
      }),
      deleteCommentAttachment: remove("Delete a file of a comment"),
    }),
  ),
  ...resource(
    {
      name: "forge.attachments",
      path: "/attachments/:uuid",
      params: z.object({ uuid: z.string() }),
      // A token needs the scope of the issue or of the repository, which depends on the file.
      gate: anyone,
    },
    ({ operation }) => ({
      downloadAttachment: operation({
        as: "download",
        method: "GET",
        summary:
          "The bytes of a file, for those who may read its issue or release; a session of the pages counts, too",
        /** 302 leads to the file of a release that is kept elsewhere. */
        replies: { 200: bytes, 302: empty },
        refuses: [403, 503],
      }),
    }),
  ),
};
