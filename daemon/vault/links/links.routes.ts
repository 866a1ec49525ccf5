import { linkEndpoints, linkPageEndpoints } from "../../contract/vault/links.ts";
import type { Route } from "../../http/handle.ts";
import { reply } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import { toPage, toPageRequest } from "../page.ts";
import type { LinkVisitors } from "./link-visitors.ts";
import { toLinkView } from "./links.view.ts";
import type { LinkDetail, Links } from "./links.service.ts";

export interface LinkRoutesDeps {
  readonly links: Links;
  readonly visitors: LinkVisitors;
  /** Base of every link, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Routes of `/api/links`, and the pages of `/s/` and `/r/`. */
export function linkRoutes({ links, visitors, publicUrl, clock }: LinkRoutesDeps): Route[] {
  const show = (detail: LinkDetail) => toLinkView(detail, publicUrl(), clock());
  return [
    ...serve(linkEndpoints, {
      createLink: async ({ caller, body }) => show(await links.create(caller, body)),
      listLinks: async ({ caller, query }) => {
        const page = toPageRequest(query);
        const found = await links.list(caller, query, page);
        return toPage(found.links.map(show), found.total, page);
      },
      getLink: async ({ caller, params }) => show(await links.get(caller, params.link_id)),
      updateLink: async ({ caller, params, body }) =>
        show(await links.update(caller, params.link_id, body)),
      deleteLink: ({ caller, params }) => links.revoke(caller, params.link_id),
    }),
    ...serve(linkPageEndpoints, {
      openLink: async ({ params, request }) => reply(await visitors.open(params.secret, request)),
      unlockLink: async ({ params, body, request }) => {
        body.file?.stream.resume();
        const { password } = body.fields;
        return reply(await visitors.unlock("download", params.secret, request, password));
      },
      downloadLink: ({ params, request }) =>
        visitors.sendFile(params.secret, request, "attachment"),
      previewLink: ({ params, request }) => visitors.sendFile(params.secret, request, "inline"),
      openUploadLink: async ({ params, request }) =>
        reply(await visitors.openUpload(params.secret, request)),
      unlockUploadLink: async ({ params, body, request }) => {
        body.file?.stream.resume();
        const { password } = body.fields;
        return reply(await visitors.unlock("upload", params.secret, request, password));
      },
      sendToLink: async ({ params, body, request }) =>
        reply(await visitors.receive(params.secret, request, body)),
    }),
  ];
}
