import { z } from "zod";
import { resource } from "../resource.ts";
import { anyone, bytes, bytesOf, stream, text } from "../../endpoint.ts";
import { queryText } from "../common.ts";
import { repositoryParams } from "./repositories.ts";

const spokenByGit = "git itself speaks it";

/** The permission depends on the repository and on the git service, so the service authorizes the caller. */
const plain = text("text/plain; charset=utf-8");
const refusals = { 400: plain, 401: plain, 403: plain, 404: plain, 503: plain } as const;

export const gitEndpoints = {
  ...resource(
    {
      name: "forge.git",
      path: "/:owner/:repo/info/refs",
      params: repositoryParams,
      gate: anyone,
    },
    ({ operation }) => ({
      advertiseRefs: operation({
        as: "refs",
        method: "GET",
        summary: "The refs of a repository, which git reads before it fetches or pushes",
        query: z.object({ service: queryText }),
        replies: { 200: bytes, ...refusals },
        refusesOnly: [],
        apiOnly: spokenByGit,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.git",
      path: "/:owner/:repo/git-upload-pack",
      params: repositoryParams,
      gate: anyone,
    },
    ({ operation }) => ({
      uploadPack: operation({
        as: "fetch",
        method: "POST",
        summary: "A fetch or clone by git",
        body: stream("application/x-git-upload-pack-request"),
        replies: { 200: bytesOf("application/x-git-upload-pack-result"), ...refusals },
        refusesOnly: [],
        apiOnly: spokenByGit,
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.git",
      path: "/:owner/:repo/git-receive-pack",
      params: repositoryParams,
      gate: anyone,
    },
    ({ operation }) => ({
      receivePack: operation({
        as: "push",
        method: "POST",
        summary: "A push by git",
        body: stream("application/x-git-receive-pack-request"),
        replies: { 200: bytesOf("application/x-git-receive-pack-result"), ...refusals },
        refusesOnly: [],
        apiOnly: spokenByGit,
      }),
    }),
  ),
};
