import { cloudItemEndpoints } from "../../../contract/vault/cloud/items.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
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
  handle(cloudItemEndpoints.createFolder, async ({ caller, params, body }) =>
    toCreateFolderReply(await changes.createFolder(caller, params.connection_id, body)),
  ),
  handle(cloudItemEndpoints.renameItem, async ({ caller, params, body }) =>
    toRenameReply(await changes.rename(caller, params, body)),
  ),
  handle(cloudItemEndpoints.moveItem, async ({ caller, params, body }) =>
    toMoveReply(await changes.move(caller, params, body)),
  ),
  handle(cloudItemEndpoints.deleteItem, async ({ caller, params, request }) =>
    toDeleteReply(await changes.delete(caller, params, { ifMatch: request.headers["if-match"] })),
  ),
  handle(
    cloudItemEndpoints.uploadItem,
    async ({ caller, params, body }) => {
      const upload = readUpload(body);
      return toUploadReply(await uploads.upload(caller, params.connection_id, upload), upload.name);
    },
    async ({ caller, params }) => {
      await uploads.admit(caller, params.connection_id);
      return undefined;
    },
  ),
  handle(cloudItemEndpoints.replaceContent, async ({ caller, params, body, request }) =>
    toReplaceReply(
      await replacements.replace(caller, params, readReplacement(body, request.headers)),
    ),
  ),
];
