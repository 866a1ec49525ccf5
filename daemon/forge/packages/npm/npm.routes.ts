import {
  deleteNpmTag,
  deleteNpmTarball,
  downloadNpmTarball,
  listNpmTags,
  npmPing,
  npmWhoami,
  publishNpmPackage,
  reviseNpmPackage,
  searchNpmPackages,
  setNpmTag,
  unpublishNpmPackage,
  viewNpmPackage,
} from "../../../contract/forge/packages/npm.ts";
import type { Route, ServerRequest } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import type { ForgeUrls } from "../../urls.ts";
import { toDownloadAnswer } from "../download.view.ts";
import type { NpmRegistry } from "./npm.service.ts";
import type { NpmPackage } from "./packument.ts";
import { abbreviatedType, toAbbreviatedPackument, toPackument } from "./packument.view.ts";
import { toSearchResult } from "./search.view.ts";

interface NpmRoutesDeps {
  readonly npm: NpmRegistry;
  readonly urls: ForgeUrls;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

const done = { ok: true } as const;

/** Routes of the npm registry. */
export function npmRoutes({ npm, urls, clock }: NpmRoutesDeps): Route[] {
  return [
    ...viewNpmPackage.map((declared) =>
      handle(declared, async ({ caller, params, request }) =>
        toPackumentAnswer(await npm.view(params, caller), request, urls),
      ),
    ),
    ...publishNpmPackage.map((declared) =>
      handle(declared, async ({ caller, params, body }) => {
        await npm.publish(params, body, caller);
        return { status: 201, body: done };
      }),
    ),
    ...downloadNpmTarball.map((declared) =>
      handle(declared, async ({ caller, params }) =>
        toDownloadAnswer(await npm.download(params, caller)),
      ),
    ),
    ...unpublishingRoutes(npm),
    ...tagRoutes(npm),
    handle(searchNpmPackages, async ({ caller, params, query }) => ({
      status: 200,
      body: toSearchResult(await npm.search(params.owner, query, caller), clock(), urls),
    })),
    handle(npmWhoami, async ({ caller }) => ({
      status: 200,
      body: { username: caller.user.name },
    })),
    handle(npmPing, async () => ({ status: 200, body: {} })),
  ];
}

function unpublishingRoutes(npm: NpmRegistry): Route[] {
  return [
    ...reviseNpmPackage.map((declared) =>
      handle(declared, async ({ caller, params, body }) => {
        await npm.revise(params, body, caller);
        return { status: 200, body: done };
      }),
    ),
    ...unpublishNpmPackage.map((declared) =>
      handle(declared, async ({ caller, params }) => {
        await npm.unpublish(params, caller);
        return { status: 200, body: done };
      }),
    ),
    ...deleteNpmTarball.map((declared) =>
      handle(declared, async ({ caller, params }) => {
        await npm.removeTarball(params, caller);
        return { status: 200, body: done };
      }),
    ),
  ];
}

function tagRoutes(npm: NpmRegistry): Route[] {
  return [
    ...listNpmTags.map((declared) =>
      handle(declared, async ({ caller, params }) => ({
        status: 200,
        body: Object.fromEntries(await npm.listTags(params, caller)),
      })),
    ),
    ...setNpmTag.map((declared) =>
      handle(declared, async ({ caller, params, body }) => {
        await npm.setTag(params, body, caller);
        return { status: 200, body: done };
      }),
    ),
    ...deleteNpmTag.map((declared) =>
      handle(declared, async ({ caller, params }) => {
        await npm.deleteTag(params, caller);
        return { status: 200, body: done };
      }),
    ),
  ];
}

function toPackumentAnswer(found: NpmPackage, { headers }: ServerRequest, urls: ForgeUrls) {
  const isAbbreviated = headers.accept?.includes(abbreviatedType) === true;
  return {
    status: 200,
    headers: {
      Vary: "Accept",
      "Content-Type": isAbbreviated ? abbreviatedType : "application/json",
    },
    body: isAbbreviated ? toAbbreviatedPackument(found, urls) : toPackument(found, urls),
  } as const;
}
