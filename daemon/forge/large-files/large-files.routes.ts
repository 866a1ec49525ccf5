import {
  fileLockEndpoints,
  largeFileEndpoints,
} from "../../contract/forge/repositories/large-files.ts";
import type { Route } from "../../http/handle.ts";
import { reply } from "../../http/serve.ts";
import type { ForgeCaller } from "../caller.ts";
import type { TransferRequest } from "../git/transfer-access.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { LargeFiles } from "./large-files.service.ts";
import {
  toBatchView,
  toDownload,
  toLockAnswer,
  toLockPage,
  toLockView,
  toSize,
} from "./large-files.view.ts";
import type { FileLocks } from "./locks.service.ts";

/** Routes of Git LFS, which are below the address of a repository. */
export function largeFileRoutes({
  largeFiles,
  locks,
  urls,
}: {
  readonly largeFiles: LargeFiles;
  readonly locks: FileLocks;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    ...serve(largeFileEndpoints, {
      planLargeFiles: async ({ caller, params, body, request }) => {
        const { authorization } = request.headers;
        const planned = await largeFiles.plan(toRequest(params, caller), body, authorization);
        return toBatchView(planned, { ...params, urls });
      },
      downloadLargeFile: async ({ caller, params }) =>
        toDownload(await largeFiles.open(toRequest(params, caller), params.oid)),
      uploadLargeFile: ({ caller, params, body, request }) =>
        largeFiles.upload(
          toRequest(params, caller),
          { oid: params.oid, size: toSize(params.size) },
          { stream: body, declaredBytes: toSize(request.headers["content-length"]) },
        ),
      verifyLargeFile: ({ caller, params, body }) =>
        largeFiles.verify(toRequest(params, caller), body),
    }),
    ...serve(fileLockEndpoints, {
      lockFile: async ({ caller, params, body }) =>
        reply(toLockAnswer(await locks.lock(toRequest(params, caller), body.path))),
      listFileLocks: async ({ caller, params, query }) => {
        const { locks: found, nextCursor } = await locks.list(toRequest(params, caller), query);
        return toLockPage({ locks: found }, nextCursor);
      },
      verifyFileLocks: async ({ caller, params, body }) => {
        const { nextCursor, ...found } = await locks.listForPush(toRequest(params, caller), body);
        return toLockPage(found, nextCursor);
      },
      unlockFile: async ({ caller, params, body }) => {
        const isForced = body.force === true;
        return {
          lock: toLockView(await locks.unlock(toRequest(params, caller), params.lock, isForced)),
        };
      },
    }),
  ];
}

function toRequest(
  { owner, repo }: { readonly owner: string; readonly repo: string },
  caller: ForgeCaller | undefined,
): TransferRequest {
  return { ownerName: owner, name: repo, caller };
}
