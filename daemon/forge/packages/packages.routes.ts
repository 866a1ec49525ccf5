import {
  deletePackageVersion,
  getPackageVersion,
  linkPackage,
  listPackageFiles,
  listPackages,
  unlinkPackage,
} from "../../contract/forge/packages/admin-packages.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toPackageFileView, toPackageView } from "./package.view.ts";
import type { Packages } from "./packages.service.ts";

/** Routes of packages of every type, below `/api/v1`. */
export function packageRoutes(packages: Packages, urls: ForgeUrls): Route[] {
  return [
    handle(listPackages, async ({ caller, query }) => {
      const filter = { type: query.type, term: query.q };
      const { versions, total } = await packages.list(filter, query, caller);
      return {
        status: 200,
        body: versions.map((each) => toPackageView(each, caller.user, urls)),
        total,
      };
    }),
    handle(getPackageVersion, async ({ caller, params }) => ({
      status: 200,
      body: toPackageView(await packages.get(params, caller), caller?.user, urls),
    })),
    handle(deletePackageVersion, async ({ caller, params }) => {
      await packages.remove(params, caller);
      return { status: 204 };
    }),
    handle(listPackageFiles, async ({ caller, params }) => ({
      status: 200,
      body: (await packages.listFiles(params, caller)).map(toPackageFileView),
    })),
    handle(linkPackage, async ({ caller, params }) => {
      await packages.link(params, params.repo_name, caller);
      return { status: 201 };
    }),
    handle(unlinkPackage, async ({ caller, params }) => {
      await packages.link(params, undefined, caller);
      return { status: 201 };
    }),
  ];
}
