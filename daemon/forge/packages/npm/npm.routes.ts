import { Readable } from "node:stream";
import {
  auditNpmPackages,
  auditNpmTree,
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
import type { BytesAnswer, Route, ServerRequest } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import type { ForgeUrls } from "../../urls.ts";
import { toDownloadAnswer } from "../download.view.ts";
import type { NpmRegistry, NpmView } from "./registry.ts";
import { abbreviatedType, writeAbbreviatedPackument, writePackument } from "./packument.view.ts";
import { toSearchResult } from "./search.view.ts";

interface NpmRoutesDeps {
  readonly npm: NpmRegistry;
  readonly urls: ForgeUrls;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

const done = { ok: true } as const;
/** npm shows this header to its user. */
const auditNotice = {
  "npm-notice": "This registry keeps no security advisories: nothing was audited.",
} as const;
const noAdvisories = {
  actions: [],
  advisories: {},
  muted: [],
  metadata: { vulnerabilities: { info: 0, low: 0, moderate: 0, high: 0, critical: 0 } },
};

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
    handle(auditNpmPackages, async ({ caller, params }) => {
      await npm.assertReadable(params.owner, caller);
      return { status: 200, headers: auditNotice, body: {} };
    }),
    handle(auditNpmTree, async ({ caller, params }) => {
      await npm.assertReadable(params.owner, caller);
      return { status: 200, headers: auditNotice, body: noAdvisories };
    }),
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

/** The members of a package are written while they are read: all of them may have megabytes. */
function toPackumentAnswer(
  { npm, manifests, latest }: NpmView,
  { headers }: ServerRequest,
  urls: ForgeUrls,
): BytesAnswer {
  const isAbbreviated = headers.accept?.includes(abbreviatedType) === true;
  const write = async () =>
    isAbbreviated
      ? writeAbbreviatedPackument(npm, manifests("abbreviated"), urls)
      : writePackument(npm, manifests("whole"), await latest(), urls);
  return {
    status: 200,
    headers: { Vary: "Accept" },
    bytes: {
      size: undefined,
      contentType: isAbbreviated ? abbreviatedType : "application/json",
      etag: undefined,
      lastModified: undefined,
      open: async () => Readable.from(await write()),
    },
  };
}
