import { Readable } from "node:stream";
import { namedNpmPackages, npmRegistryEndpoints } from "../../../contract/forge/packages/npm.ts";
import type { BytesAnswer, Route, ServerRequest } from "../../../http/handle.ts";
import { answer } from "../../../http/serve.ts";
import { serve } from "../../handle.ts";
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
    ...namedNpmPackages.flatMap((operations) => packageRoutes(operations, npm, urls)),
    ...serve(npmRegistryEndpoints, {
      searchNpmPackages: async ({ opened, query }) =>
        toSearchResult(await npm.search(opened, query), clock(), urls),
      npmWhoami: async ({ caller }) => ({ username: caller.user.name }),
      auditNpmPackages: async () => answer({}, { headers: auditNotice }),
      auditNpmTree: async () => answer(noAdvisories, { headers: auditNotice }),
      npmPing: async () => ({}),
    }),
  ];
}

/** The routes of one package; its name may be one segment or two. */
function packageRoutes(
  operations: (typeof namedNpmPackages)[number],
  npm: NpmRegistry,
  urls: ForgeUrls,
): Route[] {
  return serve(operations, {
    view: async ({ opened, params, request }) =>
      toPackumentAnswer(await npm.view(opened, params), request, urls),
    publish: async ({ opened, caller, params, body }) => {
      await npm.publish(opened, params, body, caller);
      return done;
    },
    download: async ({ opened, params }) => toDownloadAnswer(await npm.download(opened, params)),
    revise: async ({ opened, caller, params, body }) => {
      await npm.revise(opened, params, body, caller);
      return done;
    },
    unpublish: async ({ opened, caller, params }) => {
      await npm.unpublish(opened, params, caller);
      return done;
    },
    deleteTarball: async ({ opened, caller, params }) => {
      await npm.removeTarball(opened, params, caller);
      return done;
    },
    listTags: async ({ opened, params }) => Object.fromEntries(await npm.listTags(opened, params)),
    setTag: async ({ opened, caller, params, body }) => {
      await npm.setTag(opened, params, body, caller);
      return done;
    },
    deleteTag: async ({ opened, params }) => {
      await npm.deleteTag(opened, params);
      return done;
    },
  });
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
