import { packageEndpoints } from "../../contract/forge/packages/admin-packages.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toPackageFileView, toPackageView } from "./package.view.ts";
import type { ForgeCaller } from "../caller.ts";
import { orNotFound } from "../refusals.ts";
import type { Packages, PackageVersionPage } from "./packages.service.ts";

/** Routes of packages of every type, below `/api/v1`. */
export function packageRoutes(packages: Packages, urls: ForgeUrls): Route[] {
  const answer = ({ versions, total }: PackageVersionPage, caller: ForgeCaller | undefined) =>
    ({
      status: 200,
      body: versions.map((each) => toPackageView(each, caller?.user, urls)),
      total,
    }) as const;
  return [
    handle(packageEndpoints.listPackages, async ({ caller, query }) => {
      const filter = { type: query.type, term: query.q };
      const { versions, total } = await packages.list(filter, query, caller);
      return {
        status: 200,
        body: versions.map((each) => toPackageView(each, caller.user, urls)),
        total,
      };
    }),
    handle(packageEndpoints.listOwnerPackages, async ({ caller, params, query }) => {
      const filter = { type: query.type, term: query.q };
      return answer(await packages.listOfOwner(params.owner, filter, query, caller), caller);
    }),
    handle(packageEndpoints.listPackageVersions, async ({ caller, params, query }) =>
      answer(await packages.listVersions(params, query, caller), caller),
    ),
    handle(packageEndpoints.getLatestPackageVersion, async ({ caller, params }) => {
      const { versions } = await packages.listVersions(params, { page: 1, limit: 1 }, caller);
      return { status: 200, body: toPackageView(orNotFound(versions[0]), caller?.user, urls) };
    }),
    handle(packageEndpoints.deletePackage, async ({ caller, params }) => {
      await packages.removeAll(params, caller);
      return { status: 204 };
    }),
    handle(packageEndpoints.getPackageVersion, async ({ caller, params }) => ({
      status: 200,
      body: toPackageView(await packages.get(params, caller), caller?.user, urls),
    })),
    handle(packageEndpoints.deletePackageVersion, async ({ caller, params }) => {
      await packages.remove(params, caller);
      return { status: 204 };
    }),
    handle(packageEndpoints.listPackageFiles, async ({ caller, params }) => ({
      status: 200,
      body: (await packages.listFiles(params, caller)).map(toPackageFileView),
    })),
    handle(packageEndpoints.getPackageDescription, async ({ caller, params }) => ({
      status: 200,
      body: await packages.describe(params, caller),
    })),
    handle(packageEndpoints.linkPackage, async ({ caller, params }) => {
      await packages.link(params, params.repo_name, caller);
      return { status: 201 };
    }),
    handle(packageEndpoints.unlinkPackage, async ({ caller, params }) => {
      await packages.link(params, undefined, caller);
      return { status: 201 };
    }),
  ];
}
