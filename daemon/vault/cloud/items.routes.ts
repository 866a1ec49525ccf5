import {
  createFolder,
  deleteItem,
  downloadItem,
  getItemDetail,
  listItems,
  moveItem,
  openItem,
  previewItem,
  renameItem,
  uploadItem,
} from "../../contract/vault/cloud-items.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { Cloud } from "./cloud.ts";
import {
  createDownloadAnswers,
  readCursor,
  toCreateFolderReply,
  toDeleteReply,
  toDetailView,
  toListingView,
  toMoveReply,
  toOpenReply,
  toPreviewAnswer,
  toRenameReply,
  toUploadReply,
} from "./items.view.ts";
import { readUpload } from "./upload-form.ts";

/** Routes of items and folders. */
export const itemRoutes = (
  { listings, bytes, changes, uploads }: Cloud,
  toDownloadAnswer = createDownloadAnswers(),
): Route[] => [
  handle(listItems, async ({ caller, params, query }) => {
    const { parent_ref: parentRef, cursor, limit, refresh, name } = query;
    const request = { parentRef, after: readCursor(cursor), limit, refresh, name };
    const page = await listings.browse(caller, params.connection_id, request);
    return { status: 200, body: toListingView(page) };
  }),
  handle(openItem, async ({ caller, params }) => {
    await bytes.open(caller, params);
    return toOpenReply(params);
  }),
  handle(getItemDetail, async ({ caller, params }) => ({
    status: 200,
    body: toDetailView(await bytes.detail(caller, params)),
  })),
  handle(previewItem, async ({ caller, params }) =>
    toPreviewAnswer(params, await bytes.preview(caller, params)),
  ),
  handle(downloadItem, async ({ caller, params }) =>
    toDownloadAnswer(await bytes.download(caller, params)),
  ),
  handle(createFolder, async ({ caller, params, body }) =>
    toCreateFolderReply(await changes.createFolder(caller, params.connection_id, body)),
  ),
  handle(renameItem, async ({ caller, params, body }) =>
    toRenameReply(await changes.rename(caller, params, body)),
  ),
  handle(moveItem, async ({ caller, params, body }) =>
    toMoveReply(await changes.move(caller, params, body)),
  ),
  handle(deleteItem, async ({ caller, params }) =>
    toDeleteReply(await changes.delete(caller, params)),
  ),
  handle(uploadItem, async ({ caller, params, body }) => {
    const upload = readUpload(body);
    return toUploadReply(await uploads.upload(caller, params.connection_id, upload), upload.name);
  }),
];
