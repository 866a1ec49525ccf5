import { wikiEndpoints } from "../../contract/forge/repositories/wiki.ts";
import type { Route, ServerRequest } from "../../http/handle.ts";
import { answer, page } from "../../http/serve.ts";
import { toBytes } from "../code/contents.routes.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { addressToName } from "./wiki-names.ts";
import type { Wiki } from "./wiki.service.ts";
import { toPageEdit, toWikiCommitView, toWikiPageMetaView, toWikiPageView } from "./wiki.view.ts";

export function wikiRoutes({
  wiki,
  urls,
}: {
  readonly wiki: Wiki;
  readonly urls: ForgeUrls;
}): Route[] {
  return serve(wikiEndpoints, {
    getWikiPage: async ({ opened, caller, params, request }) => {
      const name = addressToName(params.name);
      return toWikiPageView(await wiki.get(opened, toRequest(caller, request), name), opened, urls);
    },
    editWikiPage: async ({ opened, caller, params, body, request }) => {
      const name = addressToName(params.name);
      const edited = wiki.edit(opened, toRequest(caller, request), name, toPageEdit(body));
      return toWikiPageView(await edited, opened, urls);
    },
    deleteWikiPage: ({ opened, caller, params, request }) =>
      wiki.remove(opened, toRequest(caller, request), addressToName(params.name)),
    listWikiPages: async ({ opened, caller, query, request }) => {
      const { pages, total } = await wiki.list(opened, toRequest(caller, request), query);
      return page(
        pages.map((each) => toWikiPageMetaView(each, opened, urls)),
        total,
      );
    },
    createWikiPage: async ({ opened, caller, body, request }) => {
      const { title = "", content = Buffer.alloc(0), message } = toPageEdit(body);
      const created = wiki.create(opened, toRequest(caller, request), { title, content, message });
      return toWikiPageView(await created, opened, urls);
    },
    listWikiRevisions: async ({ opened, caller, params, query, request }) => {
      const name = addressToName(params.name) || "Home";
      const found = await wiki.revisions(opened, toRequest(caller, request), name, query);
      const { commits, total } = found;
      return answer({ commits: commits.map(toWikiCommitView), count: total }, { total });
    },
    getWikiFile: async ({ opened, caller, params, query, request }) =>
      toBytes(await wiki.openFile(opened, toRequest(caller, request), params.file, query.ref)),
  });
}

const toRequest = <Caller>(caller: Caller, { address, signal, headers }: ServerRequest) => ({
  caller,
  address,
  signal,
  ifMatch: headers["if-match"],
});
