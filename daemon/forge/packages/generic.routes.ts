import { genericPackageEndpoints } from "../../contract/forge/packages/generic.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import { toDownloadAnswer } from "./download.view.ts";
import type { GenericPackages } from "./generic.service.ts";

/** Routes of generic packages. */
export function genericPackageRoutes(generic: GenericPackages): Route[] {
  return [
    handle(genericPackageEndpoints.downloadGenericFile, async ({ caller, params }) =>
      toDownloadAnswer(await generic.download(params, caller)),
    ),
    handle(
      genericPackageEndpoints.uploadGenericFile,
      async ({ caller, params, body, request: { headers } }) => {
        await generic.upload(params, { headers, stream: body }, caller);
        return { status: 201 };
      },
    ),
    handle(genericPackageEndpoints.deleteGenericFile, async ({ caller, params }) => {
      await generic.removeFile(params, caller);
      return { status: 204 };
    }),
    handle(genericPackageEndpoints.deleteGenericVersion, async ({ caller, params }) => {
      await generic.removeVersion(params, caller);
      return { status: 204 };
    }),
  ];
}
