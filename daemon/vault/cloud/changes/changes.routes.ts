import { cloudItemEndpoints } from "../../../contract/vault/cloud/items.ts";
import type { Route } from "../../../http/handle.ts";
import { reply } from "../../../http/serve.ts";
import { serveSome } from "../../handle.ts";
import type { CloudChanges } from "./changes.service.ts";
import type { CloudUploads } from "./uploads.service.ts";
import {
  toCreateFolderReply,
  toDeleteReply,
  toMoveReply,
  toRenameReply,
  toReplaceReply,
  toUploadReply,
} from "./changes.view.ts";
import type { CloudReplacements } from "./replacements.service.ts";
import { readReplacement, readUpload } from "./upload-form.ts";

/** Routes that change the items of a storage. */
export const changeRoutes = ({
  changes,
  uploads,
  replacements,
}: {
  readonly changes: CloudChanges;
  readonly uploads: CloudUploads;
  readonly replacements: CloudReplacements;
}): Route[] => [
  ...serveSome(cloudItemEndpoints, {
    createFolder: async ({ caller, params, body }) =>
      reply(toCreateFolderReply(await changes.createFolder(caller, params.connection_id, body))),
    renameItem: async ({ caller, params, body }) =>
      reply(toRenameReply(await changes.rename(caller, params, body))),
    moveItem: async ({ caller, params, body }) =>
      reply(toMoveReply(await changes.move(caller, params, body))),
    deleteItem: async ({ caller, params, request }) =>
      reply(
        toDeleteReply(
          await changes.delete(caller, params, { ifMatch: request.headers["if-match"] }),
        ),
      ),
    uploadItem: {
      admit: async ({ caller, params }) => {
        await uploads.admit(caller, params.connection_id);
        return undefined;
      },
      handle: async ({ caller, params, body }) => {
        const upload = readUpload(body);
        return reply(
          toUploadReply(await uploads.upload(caller, params.connection_id, upload), upload.name),
        );
      },
    },
    replaceContent: async ({ caller, params, body, request }) =>
      reply(
        toReplaceReply(
          await replacements.replace(caller, params, readReplacement(body, request.headers)),
        ),
      ),
  }),
];
