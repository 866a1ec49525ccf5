import { documentEndpoints } from "../../contract/vault/documents.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import { toPageRequest } from "../page.ts";
import type { Documents } from "./documents.service.ts";
import type { DocumentTrash } from "./trash.service.ts";
import type { DocumentVersions } from "./versions.service.ts";
import {
  readUploadForm,
  toContentAnswer,
  toDeletionReply,
  toDocumentPage,
  toDocumentReply,
  toReplacementReply,
  toEventPage,
  toTrashPage,
  toUploadAddressReply,
  toVersionPage,
} from "./documents.view.ts";
import type { DocumentUploads } from "./uploads.service.ts";

export interface DocumentRoutesDeps {
  readonly documents: Documents;
  readonly uploads: DocumentUploads;
  readonly trash: DocumentTrash;
  readonly versions: DocumentVersions;
  /** Base of every link, without a trailing slash. */
  readonly publicUrl: () => string;
}

/** Routes of `/api/documents`. */
export const documentRoutes = ({
  documents,
  uploads,
  trash,
  versions,
  publicUrl,
}: DocumentRoutesDeps): Route[] => [
  handle(documentEndpoints.createUploadAddress, async ({ caller, body }) =>
    toUploadAddressReply(await uploads.createAddress(caller, body), publicUrl()),
  ),
  handle(documentEndpoints.putUpload, async ({ params, body, request: { headers } }) => {
    await uploads.receive(params.ticket, { headers, stream: body });
    return { status: 204 };
  }),
  handle(documentEndpoints.confirmUpload, async ({ caller, params }) =>
    toDocumentReply(200, await uploads.confirm(caller, params.document_id)),
  ),
  handle(
    documentEndpoints.uploadDocument,
    async ({ caller, body }) =>
      toDocumentReply(201, await uploads.upload(caller, readUploadForm(body))),
    ({ caller }) => uploads.admit(caller),
  ),
  handle(documentEndpoints.listDocuments, async ({ caller, query }) => {
    const page = toPageRequest(query);
    return toDocumentPage(await documents.list(caller, query, page), page);
  }),
  handle(documentEndpoints.getDocument, async ({ caller, params }) =>
    toDocumentReply(200, await documents.find(caller, params.document_id)),
  ),
  handle(documentEndpoints.updateDocument, async ({ caller, params, body }) =>
    toDocumentReply(200, await documents.update(caller, params.document_id, body)),
  ),
  handle(documentEndpoints.deleteDocument, async ({ caller, params, query, request }) =>
    toDeletionReply(
      await trash.remove(caller, params.document_id, {
        removeOnly: query.remove_only,
        isPermanent: query.permanent,
        ifMatch: request.headers["if-match"],
      }),
    ),
  ),
  handle(documentEndpoints.classifyDocument, async ({ caller, params }) => {
    await documents.classify(caller, params.document_id);
    return {
      status: 202,
      body: { document_id: params.document_id, status: "processing" },
    } as const;
  }),
  handle(documentEndpoints.getDocumentContent, async ({ caller, params, query }) =>
    toContentAnswer(
      await documents.content(caller, params.document_id, query.disposition),
      query.disposition,
    ),
  ),
  handle(documentEndpoints.replaceDocumentContent, async ({ caller, params, body, request }) =>
    toReplacementReply(body, request.headers, (replacement) =>
      versions.replace(caller, params.document_id, replacement),
    ),
  ),
  handle(documentEndpoints.listDocumentVersions, async ({ caller, params, query }) =>
    toVersionPage(await versions.list(caller, params.document_id), toPageRequest(query)),
  ),
  handle(documentEndpoints.getDocumentVersionContent, async ({ caller, params, query }) =>
    toContentAnswer(
      await versions.content(caller, params.document_id, params.number),
      query.disposition,
    ),
  ),
  handle(documentEndpoints.restoreDocumentVersion, async ({ caller, params }) =>
    toDocumentReply(200, await versions.restore(caller, params.document_id, params.number)),
  ),
  handle(documentEndpoints.listDocumentEvents, async ({ caller, params, query }) => {
    const page = toPageRequest(query);
    return toEventPage(await documents.listEvents(caller, params.document_id, page), page);
  }),
  handle(documentEndpoints.listTrashedDocuments, async ({ caller, query }) => {
    const page = toPageRequest(query);
    return toTrashPage(await trash.list(caller, page), page);
  }),
  handle(documentEndpoints.restoreDocument, async ({ caller, params }) =>
    toDocumentReply(200, await trash.restore(caller, params.document_id)),
  ),
  handle(documentEndpoints.emptyDocumentTrash, async ({ caller }) => ({
    status: 200,
    body: { removed: await trash.empty(caller) },
  })),
  handle(documentEndpoints.deleteTrashedDocument, async ({ caller, params }) => {
    await trash.purge(caller, params.document_id);
    return { status: 204 };
  }),
];
