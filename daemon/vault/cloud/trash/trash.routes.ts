import { cloudTrashEndpoints } from "../../../contract/vault/cloud/trash.ts";
import type { Route } from "../../../http/handle.ts";
import { reply } from "../../../http/serve.ts";
import { serve } from "../../handle.ts";
import type { CloudTrash } from "./trash.service.ts";
import { toEmptyReply, toRestoreReply, toTrashReply } from "./trash.view.ts";

/** Routes of deleted items of a storage. */
export const trashRoutes = (trash: CloudTrash): Route[] => [
  ...serve(cloudTrashEndpoints, {
    listTrash: async ({ caller, params, query }) =>
      reply(toTrashReply(await trash.list(caller, params.connection_id, query.cursor))),
    restoreTrashed: async ({ caller, params, body }) =>
      reply(toRestoreReply(await trash.restore(caller, params.connection_id, body.trash_id))),
    emptyTrash: async ({ caller, params }) =>
      reply(toEmptyReply(await trash.empty(caller, params.connection_id))),
  }),
];
