import { z } from "zod";
import { anyone, bytes, endpoint, stream } from "../../endpoint.ts";
import { apiError, queryText } from "../common.ts";
import { repositoryParams } from "./repositories.ts";

const spokenByGit = "git itself speaks it";

/** Who may do what depends on the repository and on what git asks for, so the gate is the service's. */
const refusals = {
  400: apiError,
  401: apiError,
  403: apiError,
  404: apiError,
  503: apiError,
} as const;

export const advertiseRefs = endpoint({
  name: "forge.git.refs",
  method: "GET",
  path: "/:owner/:repo/info/refs",
  summary: "What git finds in a repository before it fetches or pushes",
  gate: anyone,
  params: repositoryParams,
  query: z.object({ service: queryText }),
  replies: { 200: bytes, ...refusals },
  apiOnly: spokenByGit,
});

export const uploadPack = endpoint({
  name: "forge.git.fetch",
  method: "POST",
  path: "/:owner/:repo/git-upload-pack",
  summary: "A fetch or clone by git",
  gate: anyone,
  params: repositoryParams,
  body: stream("application/x-git-upload-pack-request"),
  replies: { 200: bytes, ...refusals },
  apiOnly: spokenByGit,
});

export const receivePack = endpoint({
  name: "forge.git.push",
  method: "POST",
  path: "/:owner/:repo/git-receive-pack",
  summary: "A push by git",
  gate: anyone,
  params: repositoryParams,
  body: stream("application/x-git-receive-pack-request"),
  replies: { 200: bytes, ...refusals },
  apiOnly: spokenByGit,
});

export const gitEndpoints = [advertiseRefs, uploadPack, receivePack];
