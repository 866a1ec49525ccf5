import type { BodyOf } from "../../contract/endpoint.ts";
import { attachmentEndpoints } from "../../contract/forge/issues/attachments.ts";
import type { MultipartForm, Route } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve } from "../handle.ts";
import type { GrantedRepository } from "../opened.ts";
import type { ForgeUrls } from "../urls.ts";
import { toAttachmentView, toUploadedFile } from "./attachment.view.ts";
import type { Attachments } from "./attachments.service.ts";
import type { IssueOrComment } from "./issue-requests.ts";

/** Routes of the files of issues and comments. */
export function attachmentRoutes({
  attachments,
  urls,
}: {
  readonly attachments: Attachments;
  readonly urls: ForgeUrls;
}): Route[] {
  type Attachment = Awaited<ReturnType<Attachments["get"]>>;
  const show = (attachment: Attachment) => toAttachmentView(attachment, urls);
  const list = async ({ opened, params }: Input) =>
    (await attachments.list(opened, params)).map(show);
  const create = {
    handle: async ({ opened, params, caller, query, body }: Change & Upload) =>
      show(await attachments.create(opened, params, caller, toUploadedFile(body, query.name))),
    admit: ({ opened, params, caller }: Change) => attachments.admit(opened, params, caller),
  };
  const get = async ({ opened, params }: Input & One) =>
    show(await attachments.get(opened, params, params.attachment));
  const edit = async ({ opened, params, caller, body }: Change & One & { body: EditBody }) => {
    const change = { id: params.attachment, name: body.name ?? "" };
    return show(await attachments.rename(opened, params, caller, change));
  };
  const remove = ({ opened, params, caller }: Change & One) =>
    attachments.remove(opened, params, caller, params.attachment);
  return serve(ofIssues, {
    listIssueAttachments: list,
    createIssueAttachment: create,
    getIssueAttachment: get,
    editIssueAttachment: edit,
    deleteIssueAttachment: remove,
    listCommentAttachments: list,
    createCommentAttachment: create,
    getCommentAttachment: get,
    editCommentAttachment: edit,
    deleteCommentAttachment: remove,
  });
}

// A download, whose address is the same for files of releases, belongs to the routes of releases.
const { downloadAttachment: _download, ...ofIssues } = attachmentEndpoints;

interface Input {
  readonly opened: GrantedRepository;
  readonly params: IssueOrComment;
}

type Change = Input & { readonly caller: ForgeCaller };

/** The input of an operation on one file. */
interface One {
  readonly params: { readonly attachment: number };
}

interface Upload {
  readonly query: { readonly name: string };
  readonly body: MultipartForm<unknown>;
}

type EditBody = BodyOf<typeof attachmentEndpoints.editIssueAttachment>;
