import { z } from "zod";
import { anyone, bytes, bytesOf, endpoint, stream, text } from "../../endpoint.ts";
import { queryText } from "../common.ts";
import { repositoryParams } from "./repositories.ts";

const spokenByGit = "git itself speaks it";

/** The permission depends on the repository and on the git service, so the service authorizes the caller. */
const plain = text("text/plain; charset=utf-8");
const refusals = { 400: plain, 401: plain, 403: plain, 404: plain, 503: plain } as const;

export const advertiseRefs = endpoint({
  name: "forge.git.refs",
  method: "GET",
  path: "/:owner/:repo/info/refs",
  summary: "The refs of a repository, which git reads before it fetches or pushes",
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
  replies: { 200: bytesOf("application/x-git-upload-pack-result"), ...refusals },
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
  replies: { 200: bytesOf("application/x-git-receive-pack-result"), ...refusals },
  apiOnly: spokenByGit,
});

export const listLargeFiles = endpoint({
  name: "forge.git.large_files",
  method: "POST",
  path: "/:owner/:repo/info/lfs/objects/batch",
  summary: "Tells a Git LFS client that large files are not stored here",
  gate: anyone,
  params: repositoryParams,
  body: stream("application/vnd.git-lfs+json"),
  replies: { 501: bytesOf("application/vnd.git-lfs+json"), ...refusals },
  apiOnly: "Git LFS itself speaks it",
});

export const gitEndpoints = { advertiseRefs, uploadPack, receivePack, listLargeFiles };
