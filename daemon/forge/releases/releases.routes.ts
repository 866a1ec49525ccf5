import { attachmentEndpoints } from "../../contract/forge/issues/attachments.ts";
import { releaseAssetEndpoints } from "../../contract/forge/releases/assets.ts";
import { releaseEndpoints } from "../../contract/forge/releases/releases.ts";
import type { Route, ServerRequest } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve, serveSome } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { ReleaseNotes } from "./notes.service.ts";
import type { ReleaseAssets } from "./assets.service.ts";
import type { ReleaseChange, Releases } from "./releases.service.ts";
import {
  toAssetView,
  toFileAnswer,
  toNewFile,
  toReleaseEdit,
  toReleaseRequest,
  toReleaseView,
} from "./releases.view.ts";

export interface ReleaseRoutesDeps {
  readonly releases: Releases;
  readonly notes: ReleaseNotes;
  readonly assets: ReleaseAssets;
  readonly urls: ForgeUrls;
}

/** Routes of releases and their files, and the addresses of all attached files. */
export function releaseRoutes({ releases, notes, assets, urls }: ReleaseRoutesDeps): Route[] {
  return [
    ...serve(releaseEndpoints, {
      listReleases: async ({ opened, caller, query }) => {
        const { draft: isDraft, "pre-release": isPrerelease } = query;
        const filter = { isDraft, isPrerelease };
        const { releases: found, total } = await releases.list(opened, filter, query);
        return page(
          found.map((each) => toReleaseView(each, caller?.user, urls)),
          total,
        );
      },
      createRelease: async ({ opened, caller, body, request }) => {
        const made = releases.create(opened, toReleaseRequest(body), toChange(caller, request));
        return toReleaseView(await made, caller.user, urls);
      },
      getRelease: async ({ opened, caller, params: { id } }) =>
        toReleaseView(await releases.get(opened, { id }), caller?.user, urls),
      editRelease: async ({ opened, caller, params, body, request }) => {
        const change = toChange(caller, request);
        const edited = releases.edit(opened, params.id, toReleaseEdit(body), change);
        return toReleaseView(await edited, caller.user, urls);
      },
      deleteRelease: ({ opened, caller, params: { id } }) =>
        releases.remove(opened, { id }, caller.user),
      getLatestRelease: async ({ opened, caller }) =>
        toReleaseView(await releases.latest(opened), caller?.user, urls),
      getReleaseByTag: async ({ opened, caller, params: { tag: tagName } }) =>
        toReleaseView(await releases.get(opened, { tagName }), caller?.user, urls),
      deleteReleaseByTag: ({ opened, caller, params: { tag: tagName } }) =>
        releases.remove(opened, { tagName }, caller.user),
      generateReleaseNotes: ({ opened, body }) =>
        notes.generate(opened, body.tag_name, body.previous_tag_name || undefined),
    }),
    ...serve(releaseAssetEndpoints, {
      listReleaseAssets: async ({ opened, params }) =>
        (await assets.list(opened, params.id)).map((asset) => toAssetView(asset, urls)),
      createReleaseAsset: {
        admit: ({ opened, params }) => assets.admit(opened, params.id),
        handle: async ({ opened, caller, params, query, body }) => {
          const file = toNewFile(body, query);
          return toAssetView(await assets.create(opened, params.id, file, caller.user), urls);
        },
      },
      getReleaseAsset: async ({ opened, params }) =>
        toAssetView(await assets.get(opened, params.id, params.attachment), urls),
      editReleaseAsset: async ({ opened, params, body }) => {
        const change = { name: body.name ?? "", link: body.browser_download_url ?? "" };
        return toAssetView(await assets.edit(opened, params.id, params.attachment, change), urls);
      },
      deleteReleaseAsset: ({ opened, params }) =>
        assets.remove(opened, params.id, params.attachment),
      downloadReleaseFile: async ({ opened, params }) =>
        toFileAnswer(await assets.openNamed(opened, params.file)),
    }),
    ...serveSome(attachmentEndpoints, {
      downloadAttachment: async ({ caller, params }) =>
        toFileAnswer(await assets.openByUuid(params.uuid, caller)),
    }),
  ];
}

const toChange = (caller: ForgeCaller, { address, signal }: ServerRequest): ReleaseChange => ({
  caller,
  address,
  signal,
});
