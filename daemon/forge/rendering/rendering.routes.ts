import { logoEndpoints } from "../../contract/forge/logos.ts";
import { renderingEndpoints } from "../../contract/forge/rendering.ts";
import type { Route, ServerRequest } from "../../http/handle.ts";
import { answer } from "../../http/serve.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve } from "../handle.ts";
import type { Rendering } from "../../rendering/rendering.service.ts";
import { renderedHeaders, toPicture, toRendered, toRequest, toText } from "./rendering.view.ts";

export interface RenderingRoutesDeps {
  readonly rendering: Rendering;
  /** Returns the rate-limit key of an address; an IPv6 network has one key. */
  readonly addressKey: (address: string) => string;
}

/** Returns the routes of rendering, open to anonymous callers, and of its pictures. */
export function renderingRoutes({ rendering, addressKey }: RenderingRoutesDeps): Route[] {
  const toCallerKey = (caller: ForgeCaller | undefined, { address }: ServerRequest) =>
    caller === undefined ? `a:${addressKey(address)}` : `u:${caller.actor.id}`;
  const show = (outcome: Awaited<ReturnType<Rendering["render"]>>) =>
    answer(toRendered(outcome), { headers: renderedHeaders });
  return [
    ...serve(renderingEndpoints, {
      renderMarkdown: async ({ caller, body, request }) => {
        const callerKey = toCallerKey(caller, request);
        return show(
          await rendering.render({ ...toRequest(body), filePath: "", caller: callerKey }),
        );
      },
      renderMarkdownRaw: async ({ caller, body, request }) => {
        const text = toText(body, request.headers["content-type"]);
        const callerKey = toCallerKey(caller, request);
        return show(
          await rendering.render({
            ...toRequest({ Text: text }),
            filePath: "",
            caller: callerKey,
          }),
        );
      },
      renderMarkup: async ({ caller, body, request }) => {
        const filePath = body.FilePath ?? "";
        const callerKey = toCallerKey(caller, request);
        return show(await rendering.render({ ...toRequest(body), filePath, caller: callerKey }));
      },
    }),
    ...serve(logoEndpoints, {
      getLogo: async ({ params }) => toPicture(params.file),
    }),
  ];
}
