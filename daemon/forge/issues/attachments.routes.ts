import * as contract from "../../contract/forge/issues/attachments.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toAttachmentView, toUploadedFile } from "./attachment.view.ts";
import type { Attachments } from "./attachments.service.ts";

/** Routes of the files of issues and comments. */
export function attachmentRoutes({
  attachments,
  urls,
}: {
  readonly attachments: Attachments;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    ...(
      [
        contract.attachmentEndpoints.listIssueAttachments,
        contract.attachmentEndpoints.listCommentAttachments,
      ] as const
    ).map((declared) =>
      handle(declared, async ({ caller, params }) => ({
        status: 200,
        body: (await attachments.list(params, caller)).map((one) => toAttachmentView(one, urls)),
      })),
    ),
    ...(
      [
        contract.attachmentEndpoints.createIssueAttachment,
        contract.attachmentEndpoints.createCommentAttachment,
      ] as const
    ).map((declared) =>
      handle(
        declared,
        async ({ caller, params, query, body }) => {
          const made = await attachments.create(params, toUploadedFile(body, query.name), caller);
          return { status: 201, body: toAttachmentView(made, urls) };
        },
        ({ caller, params }) => attachments.admit(params, caller),
      ),
    ),
    ...(
      [
        contract.attachmentEndpoints.getIssueAttachment,
        contract.attachmentEndpoints.getCommentAttachment,
      ] as const
    ).map((declared) =>
      handle(declared, async ({ caller, params }) => {
        const found = await attachments.get(params, params.attachment, caller);
        return { status: 200, body: toAttachmentView(found, urls) };
      }),
    ),
    ...(
      [
        contract.attachmentEndpoints.editIssueAttachment,
        contract.attachmentEndpoints.editCommentAttachment,
      ] as const
    ).map((declared) =>
      handle(declared, async ({ caller, params, body }) => {
        const name = body.name ?? "";
        const renamed = await attachments.rename(params, params.attachment, name, caller);
        return { status: 201, body: toAttachmentView(renamed, urls) };
      }),
    ),
    ...(
      [
        contract.attachmentEndpoints.deleteIssueAttachment,
        contract.attachmentEndpoints.deleteCommentAttachment,
      ] as const
    ).map((declared) =>
      handle(declared, async ({ caller, params }) => {
        await attachments.remove(params, params.attachment, caller);
        return { status: 204 };
      }),
    ),
  ];
}
