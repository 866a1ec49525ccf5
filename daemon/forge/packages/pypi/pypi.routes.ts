import { pypiEndpoints } from "../../../contract/forge/packages/pypi.ts";
import type { Route } from "../../../http/handle.ts";
import { serve } from "../../handle.ts";
import type { ForgeUrls } from "../../urls.ts";
import { toDownloadAnswer } from "../download.view.ts";
import type { PypiRegistry } from "./pypi.service.ts";
import { toIndexAnswer, toProjectAnswer } from "./simple.view.ts";

/** Routes of the registry for Python. */
export function pypiRoutes(pypi: PypiRegistry, urls: ForgeUrls): Route[] {
  return serve(pypiEndpoints, {
    uploadPypiFile: async ({ caller, params, body, request: { headers } }) =>
      pypi.upload(params.owner, { headers, stream: body }, caller),
    listPypiProjects: async ({ caller, params, request }) =>
      toIndexAnswer(await pypi.listProjects(params.owner, caller), request),
    getPypiProject: async ({ caller, params, request }) =>
      toProjectAnswer(await pypi.getProject(params, caller), request, urls),
    downloadPypiFile: async ({ caller, params }) =>
      toDownloadAnswer(await pypi.download(params, caller)),
  });
}
