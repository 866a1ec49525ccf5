import { Readable } from "node:stream";
import { gitEndpoints } from "../../contract/forge/repositories/git.ts";
import type { BytesAnswer, Route, ServerRequest } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve } from "../handle.ts";
import type { GitAnswer, GitRequest, GitTransfer, SmartHttp } from "./smart-http.service.ts";

/** Routes of git's smart protocol, which are outside of `/api/v1`. */
export function gitRoutes(smartHttp: SmartHttp): Route[] {
  return [
    ...serve(gitEndpoints, {
      advertiseRefs: async ({ caller, params, query, request }) =>
        toWhole(await smartHttp.advertise(toRequest(params, caller, request), query.service)),
      uploadPack: async ({ caller, params, body, request }) =>
        toStream(await smartHttp.fetch(toTransfer(params, caller, request, body))),
      receivePack: async ({ caller, params, body, request }) =>
        toStream(await smartHttp.push(toTransfer(params, caller, request, body))),
    }),
  ];
}

interface Params {
  readonly owner: string;
  readonly repo: string;
}

function toRequest(
  { owner, repo }: Params,
  caller: ForgeCaller | undefined,
  { headers, address, signal }: ServerRequest,
): GitRequest {
  const protocol = headers["git-protocol"];
  return {
    ownerName: owner,
    name: repo,
    caller,
    address,
    protocol: typeof protocol === "string" ? protocol : undefined,
    signal,
  };
}

function toTransfer(
  params: Params,
  caller: ForgeCaller | undefined,
  request: ServerRequest,
  body: Readable,
): GitTransfer {
  return {
    ...toRequest(params, caller, request),
    contentType: request.headers["content-type"],
    contentEncoding: request.headers["content-encoding"],
    body,
  };
}

/** Refs change with every push: responses must not be cached. */
const uncached = {
  "Cache-Control": "no-cache, max-age=0, must-revalidate",
  Expires: "Fri, 01 Jan 1980 00:00:00 GMT",
  Pragma: "no-cache",
} as const;

function toWhole(answer: { readonly contentType: string; readonly body: Buffer }): BytesAnswer {
  return {
    status: 200,
    headers: uncached,
    bytes: {
      size: answer.body.byteLength,
      contentType: answer.contentType,
      etag: undefined,
      lastModified: undefined,
      buffer: answer.body,
      open: async () => Readable.from([answer.body]),
    },
  };
}

function toStream({ contentType, stream, giveUp }: GitAnswer): BytesAnswer {
  return {
    status: 200,
    headers: uncached,
    bytes: {
      size: undefined,
      contentType,
      etag: undefined,
      lastModified: undefined,
      open: async () => stream,
      release: giveUp,
    },
  };
}
