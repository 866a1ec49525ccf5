import { z } from "zod";
import { resource } from "../resource.ts";
import { forgeUser, siteAdmin } from "../../endpoint.ts";
import { organization, repository } from "../../permission.ts";
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

export const newRepositoryEndpoints = {
  ...resource(
    {
      name: "forge.admin.repos",
      path: "/api/v1/admin/users/:username/repos",
      params: usernameParams,
      shape: repositoryShape,
      gate: siteAdmin,
    },
    ({ create }) => ({
      createRepository: create("Create a repository that a user or organization owns", body, {
        refuses: [400, 409],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.user.repos",
      path: "/api/v1/user/repos",
      shape: repositoryShape,
      gate: forgeUser("repository"),
    },
    ({ create }) => ({
      createOwnRepository: create("Create a repository of your own", body, {
        refuses: [400, 404, 409],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.orgs.repos",
      path: "/api/v1/orgs/:org/repos",
      params: z.object({ org: z.string() }),
      shape: repositoryShape,
      gate: forgeUser("repository"),
      // The service checks whether a team of the caller may create repositories.
      on: organization("viewer"),
    },
    ({ create }) => ({
      createOrganizationRepository: create("Create a repository in an organization", body, {
        refuses: [400, 409],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos",
      path: "/api/v1/repos/:owner/:repo/generate",
      params: z.object({ owner: z.string(), repo: z.string() }),
      gate: forgeUser("repository"),
      on: repository("code", "read", { evenOff: true }),
      acceptsArchived: true,
    },
    ({ operation }) => ({
      generateRepository: operation({
        as: "generate",
        method: "POST",
        summary: "Create a repository from a template repository",
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
        refusesOnly: [],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.org.repos",
      path: "/api/v1/org/:org/repos",
      params: z.object({ org: z.string() }),
      shape: repositoryShape,
      gate: forgeUser("repository"),
      // The service checks whether a team of the caller may create repositories.
      on: organization("viewer"),
    },
    ({ create }) => ({
      /** The former address of `createOrganizationRepository`, which clients in Go still use. */
      createOrganizationRepositoryFormerly: create(
        "Create a repository in an organization, by the former address",
        body,
        { refuses: [400, 409], apiOnly: '"croft repo create ORG/NAME" uses the current address' },
      ),
    }),
  ),
};
