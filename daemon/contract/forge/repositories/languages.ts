import { z } from "zod";
import { anyoneWithin, endpoint } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { apiError, signedInReplies } from "../common.ts";
import { repositoryParams } from "./repositories.ts";

export const listLanguages = endpoint({
  name: "forge.repos.languages",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/languages",
  summary: "The bytes of a repository's default branch by programming language, the most first",
  gate: anyoneWithin("repository"),
  on: repository("code", "read"),
  params: repositoryParams,
  replies: { 200: z.record(z.string(), z.int()), ...signedInReplies, 404: apiError },
});

export const languageEndpoints = { listLanguages };
