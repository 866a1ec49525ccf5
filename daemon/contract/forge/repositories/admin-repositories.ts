import { z } from "zod";
import { endpoint, siteAdmin } from "../../endpoint.ts";
import {
  apiError,
  optionalFlag,
  optionalText,
  requiredText,
  signedInReplies,
  usernameParams,
} from "../common.ts";
import { repositoryShape } from "./repositories.ts";
import { isAlphaDashDot, isRefName } from "./rules.ts";

export const createRepository = endpoint({
  name: "forge.admin.repos.create",
  method: "POST",
  path: "/api/v1/admin/users/:username/repos",
  summary: "Create a repository that a user or organization owns",
  gate: siteAdmin,
  params: usernameParams,
  // In the order in which the document reports what does not fit.
  body: z.object({
    name: requiredText({ max: 100, rules: [["AlphaDashDot", isAlphaDashDot]] }),
    description: optionalText({ max: 2048 }),
    private: optionalFlag,
    issue_labels: optionalText({ max: 255 }),
    auto_init: optionalFlag,
    template: optionalFlag,
    gitignores: optionalText(),
    license: optionalText({ max: 100 }),
    readme: optionalText({ max: 255 }),
    default_branch: optionalText({ max: 100, rules: [["GitRefName", isRefName]] }),
    trust_model: optionalText(),
    object_format_name: optionalText({ max: 6 }),
  }),
  replies: {
    201: repositoryShape,
    400: apiError,
    ...signedInReplies,
    404: apiError,
    409: apiError,
    422: apiError,
  },
});

export const adminRepositoryEndpoints = [createRepository];
