import { packageEndpoints } from "../../contract/forge/packages/admin-packages.ts";
import { genericPackageEndpoints } from "../../contract/forge/packages/generic.ts";
import { pypiEndpoints } from "../../contract/forge/packages/pypi.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { ForgeCaller } from "../caller.ts";
import { orNotFound } from "../refusals.ts";
import { toDownloadAnswer } from "./download.view.ts";
import type { GenericPackages } from "./generic.service.ts";
import { toPackageFileView, toPackageView } from "./package.view.ts";
import type { Packages, PackageVersionPage } from "./packages.service.ts";
import type { PypiRegistry } from "./pypi/pypi.service.ts";
import { toIndexAnswer, toProjectAnswer } from "./pypi/simple.view.ts";

/** Routes of packages of every type, below `/api/v1`. */
export function packageRoutes(packages: Packages, urls: ForgeUrls): Route[] {
  const toPage = ({ versions, total }: PackageVersionPage, caller: ForgeCaller | undefined) =>
    page(
      versions.map((each) => toPackageView(each, caller?.user, urls)),
      total,
    );
  return serve(packageEndpoints, {
    listPackages: async ({ caller, query }) => {
      const filter = { type: query.type, term: query.q };
      return toPage(await packages.list(filter, query, caller), caller);
    },
    listOwnerPackages: async ({ opened, caller, query }) => {
      const filter = { type: query.type, term: query.q };
      return toPage(await packages.listOfOwner(opened, filter, query, caller), caller);
    },
    listPackageVersions: async ({ opened, caller, params, query }) =>
      toPage(await packages.listVersions(opened, params, query, caller), caller),
    getLatestPackageVersion: async ({ opened, caller, params }) => {
      const newest = { page: 1, limit: 1 };
      const { versions } = await packages.listVersions(opened, params, newest, caller);
      return toPackageView(orNotFound(versions[0]), caller?.user, urls);
    },
    deletePackage: ({ opened, caller, params }) => packages.removeAll(opened, params, caller),
    getPackageVersion: async ({ opened, caller, params }) =>
      toPackageView(await packages.get(opened, params, caller), caller?.user, urls),
    deletePackageVersion: ({ opened, caller, params }) => packages.remove(opened, params, caller),
    listPackageFiles: async ({ opened, params }) =>
      (await packages.listFiles(opened, params)).map(toPackageFileView),
    getPackageDescription: ({ opened, params }) => packages.describe(opened, params),
    linkPackage: ({ opened, caller, params }) =>
      packages.link(opened, params, params.repo_name, caller),
    unlinkPackage: ({ opened, caller, params }) => packages.link(opened, params, undefined, caller),
  });
}

/** Routes of generic packages. */
export function genericPackageRoutes(generic: GenericPackages): Route[] {
  return serve(genericPackageEndpoints, {
    downloadGenericFile: async ({ opened, params }) =>
      toDownloadAnswer(await generic.download(opened, params)),
    uploadGenericFile: ({ opened, caller, params, body, request: { headers } }) =>
      generic.upload(opened, params, { headers, stream: body }, caller),
    deleteGenericFile: ({ opened, caller, params }) => generic.removeFile(opened, params, caller),
    deleteGenericVersion: ({ opened, caller, params }) =>
      generic.removeVersion(opened, params, caller),
  });
}

/** Routes of the registry for Python. */
export function pypiRoutes(pypi: PypiRegistry, urls: ForgeUrls): Route[] {
  return serve(pypiEndpoints, {
    uploadPypiFile: ({ opened, caller, body, request: { headers } }) =>
      pypi.upload(opened, { headers, stream: body }, caller),
    listPypiProjects: async ({ opened, request }) =>
      toIndexAnswer(pypi.listProjects(opened), request),
    getPypiProject: async ({ opened, params, request }) =>
      toProjectAnswer(await pypi.getProject(opened, params), request, urls),
    downloadPypiFile: async ({ opened, params }) =>
      toDownloadAnswer(await pypi.download(opened, params)),
  });
}
