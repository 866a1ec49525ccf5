import { cloudTrashEndpoints } from "../../../contract/vault/cloud/trash.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import type { CloudTrash } from "./trash.service.ts";
import { toEmptyReply, toRestoreReply, toTrashReply } from "./trash.view.ts";

/** Routes of deleted items of a storage. */
export const trashRoutes = (trash: CloudTrash): Route[] => [
  handle(cloudTrashEndpoints.listTrash, async ({ caller, params, query }) =>
    toTrashReply(await trash.list(caller, params.connection_id, query.cursor)),
  ),
  handle(cloudTrashEndpoints.restoreTrashed, async ({ caller, params, body }) =>
    toRestoreReply(await trash.restore(caller, params.connection_id, body.trash_id)),
  ),
  handle(cloudTrashEndpoints.emptyTrash, async ({ caller, params }) =>
    toEmptyReply(await trash.empty(caller, params.connection_id)),
  ),
];
