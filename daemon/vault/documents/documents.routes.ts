import { documentEndpoints } from "../../contract/vault/documents.ts";
import type { Route } from "../../http/handle.ts";
import { reply } from "../../http/serve.ts";
import { serveSome } from "../handle.ts";
import { toPageRequest } from "../page.ts";
import type { Documents } from "./documents.service.ts";
import type { DocumentTrash } from "./trash.service.ts";
import type { DocumentVersions } from "./versions.service.ts";
import {
  readUploadForm,
  toContentAnswer,
  toDeletionView,
  toDocumentPage,
  toOwnDocumentView,
  toReplacementReply,
  toEventPage,
  toTrashPage,
  toUploadAddressView,
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
  ...serveSome(documentEndpoints, {
    createUploadAddress: async ({ caller, body }) =>
      toUploadAddressView(await uploads.createAddress(caller, body), publicUrl()),
    putUpload: ({ params, body, request: { headers } }) =>
      uploads.receive(params.ticket, { headers, stream: body }),
    confirmUpload: async ({ caller, params }) =>
      toOwnDocumentView(await uploads.confirm(caller, params.document_id)),
    uploadDocument: {
      admit: ({ caller }) => uploads.admit(caller),
      handle: async ({ caller, body }) =>
        toOwnDocumentView(await uploads.upload(caller, readUploadForm(body))),
    },
    listDocuments: async ({ caller, query }) => {
      const page = toPageRequest(query);
      return toDocumentPage(await documents.list(caller, query, page), page);
    },
    getDocument: async ({ caller, params }) =>
      toOwnDocumentView(await documents.find(caller, params.document_id)),
    updateDocument: async ({ caller, params, body }) =>
      toOwnDocumentView(await documents.update(caller, params.document_id, body)),
    deleteDocument: async ({ caller, params, query, request }) =>
      toDeletionView(
        await trash.remove(caller, params.document_id, {
          removeOnly: query.remove_only,
          isPermanent: query.permanent,
          ifMatch: request.headers["if-match"],
        }),
      ),
    classifyDocument: async ({ caller, params }) => {
      await documents.classify(caller, params.document_id);
      return { document_id: params.document_id, status: "processing" as const };
    },
    getDocumentContent: async ({ caller, params, query }) =>
      toContentAnswer(
        await documents.content(caller, params.document_id, query.disposition),
        query.disposition,
      ),
    replaceDocumentContent: async ({ caller, params, body, request }) =>
      reply(
        await toReplacementReply(body, request.headers, (replacement) =>
          versions.replace(caller, params.document_id, replacement),
        ),
      ),
    listDocumentVersions: async ({ caller, params, query }) =>
      toVersionPage(await versions.list(caller, params.document_id), toPageRequest(query)),
    getDocumentVersionContent: async ({ caller, params, query }) =>
      toContentAnswer(
        await versions.content(caller, params.document_id, params.number),
        query.disposition,
      ),
    restoreDocumentVersion: async ({ caller, params }) =>
      toOwnDocumentView(await versions.restore(caller, params.document_id, params.number)),
    listDocumentEvents: async ({ caller, params, query }) => {
      const page = toPageRequest(query);
      return toEventPage(await documents.listEvents(caller, params.document_id, page), page);
    },
    listTrashedDocuments: async ({ caller, query }) => {
      const page = toPageRequest(query);
      return toTrashPage(await trash.list(caller, page), page);
    },
    restoreDocument: async ({ caller, params }) =>
      toOwnDocumentView(await trash.restore(caller, params.document_id)),
    emptyDocumentTrash: async ({ caller }) => ({ removed: await trash.empty(caller) }),
    deleteTrashedDocument: ({ caller, params }) => trash.purge(caller, params.document_id),
  }),
];
