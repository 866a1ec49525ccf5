import { z } from "zod";
import { endpoint, forgeUser, siteAdmin } from "../../endpoint.ts";
import {
  apiError,
  optionalFlag,
  optionalText,
  requiredText,
  signedInReplies,
  usernameParams,
} from "../common.ts";
import { repositoryShape } from "./repositories.ts";
import { isAlphaDashDot, isNewRefName } from "./rules.ts";

// In the order in which the document reports violations.
const body = z.object({
  name: requiredText({ max: 100, rules: [["AlphaDashDot", isAlphaDashDot]] }),
  description: optionalText({ max: 2048 }),
  private: optionalFlag,
  issue_labels: optionalText({ max: 255 }),
  auto_init: optionalFlag,
  template: optionalFlag,
  gitignores: optionalText(),
  license: optionalText({ max: 100 }),
  readme: optionalText({ max: 255 }),
  default_branch: optionalText({ max: 100, rules: [["GitRefName", isNewRefName]] }),
  trust_model: optionalText(),
  object_format_name: optionalText({ max: 6 }),
});

const replies = {
  201: repositoryShape,
  400: apiError,
  ...signedInReplies,
  404: apiError,
  409: apiError,
  422: apiError,
} as const;

export const createOwnRepository = endpoint({
  name: "forge.user.repos.create",
  method: "POST",
  path: "/api/v1/user/repos",
  summary: "Create a repository of your own",
  gate: forgeUser("repository"),
  body,
  replies,
});

export const createOrganizationRepository = endpoint({
  name: "forge.orgs.repos.create",
  method: "POST",
  path: "/api/v1/orgs/:org/repos",
  summary: "Create a repository in an organization",
  gate: forgeUser("repository"),
  params: z.object({ org: z.string() }),
  body,
  replies,
});

/** The former address of `createOrganizationRepository`, which clients in Go still use. */
export const createOrganizationRepositoryFormerly = endpoint({
  name: "forge.org.repos.create",
  method: "POST",
  path: "/api/v1/org/:org/repos",
  summary: "Create a repository in an organization, by the former address",
  gate: forgeUser("repository"),
  params: z.object({ org: z.string() }),
  body,
  replies,
  apiOnly: '"croft repo create ORG/NAME" uses the current address',
});

export const createRepository = endpoint({
  name: "forge.admin.repos.create",
  method: "POST",
  path: "/api/v1/admin/users/:username/repos",
  summary: "Create a repository that a user or organization owns",
  gate: siteAdmin,
  params: usernameParams,
  body,
  replies,
});

export const generateRepository = endpoint({
  name: "forge.repos.generate",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/generate",
  summary: "Create a repository from a template repository",
  gate: forgeUser("repository"),
  params: z.object({ owner: z.string(), repo: z.string() }),
  body: z.object({
    owner: optionalText(),
    name: requiredText({ max: 100, rules: [["AlphaDashDot", isAlphaDashDot]] }),
    default_branch: optionalText({ max: 100, rules: [["GitRefName", isNewRefName]] }),
    description: optionalText({ max: 2048 }),
    private: optionalFlag,
    // The parts that are copied from the template: at least one.
    git_content: optionalFlag,
    topics: optionalFlag,
    git_hooks: optionalFlag,
    webhooks: optionalFlag,
    avatar: optionalFlag,
    labels: optionalFlag,
    protected_branch: optionalFlag,
  }),
  replies: { ...replies, 503: apiError },
});

export const newRepositoryEndpoints = {
  createRepository,
  createOwnRepository,
  createOrganizationRepository,
  generateRepository,
  createOrganizationRepositoryFormerly,
};
