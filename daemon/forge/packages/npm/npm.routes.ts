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
      searchNpmPackages: async ({ caller, params, query }) =>
        toSearchResult(await npm.search(params.owner, query, caller), clock(), urls),
      npmWhoami: async ({ caller }) => ({ username: caller.user.name }),
      auditNpmPackages: async ({ caller, params }) => {
        await npm.assertReadable(params.owner, caller);
        return answer({}, { headers: auditNotice });
      },
      auditNpmTree: async ({ caller, params }) => {
        await npm.assertReadable(params.owner, caller);
        return answer(noAdvisories, { headers: auditNotice });
      },
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
    view: async ({ caller, params, request }) =>
      toPackumentAnswer(await npm.view(params, caller), request, urls),
    publish: async ({ caller, params, body }) => {
      await npm.publish(params, body, caller);
      return done;
    },
    download: async ({ caller, params }) => toDownloadAnswer(await npm.download(params, caller)),
    revise: async ({ caller, params, body }) => {
      await npm.revise(params, body, caller);
      return done;
    },
    unpublish: async ({ caller, params }) => {
      await npm.unpublish(params, caller);
      return done;
    },
    deleteTarball: async ({ caller, params }) => {
      await npm.removeTarball(params, caller);
      return done;
    },
    listTags: async ({ caller, params }) => Object.fromEntries(await npm.listTags(params, caller)),
    setTag: async ({ caller, params, body }) => {
      await npm.setTag(params, body, caller);
      return done;
    },
    deleteTag: async ({ caller, params }) => {
      await npm.deleteTag(params, caller);
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
