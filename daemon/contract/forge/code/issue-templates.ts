import { z } from "zod";
import { resource } from "../resource.ts";
import { repository } from "../../permission.ts";
import { anyoneWithin } from "../../endpoint.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { readLimit } from "./shapes.ts";

// Issue templates and their configuration, which are files on a repository's default branch.

/** Attributes of a field are JSON that clients interpret. */
const anyMembers = z.record(z.string(), z.unknown());

const fieldShape = z.object({
  type: z.string(),
  id: z.string(),
  attributes: anyMembers.nullable(),
  validations: anyMembers.nullable(),
  visible: z.array(z.string()).optional(),
});

const issueTemplateShape = z.object({
  name: z.string(),
  title: z.string(),
  about: z.string(),
  labels: z.array(z.string()).nullable(),
  assignees: z.array(z.string()).nullable(),
  ref: z.string(),
  /** The text of a template in Markdown; empty for a form. */
  content: z.string(),
  /** The fields of a form. */
  body: z.array(fieldShape).nullable(),
  file_name: z.string(),
});
export type WireIssueTemplate = z.output<typeof issueTemplateShape>;

const issueConfigShape = z.object({
  blank_issues_enabled: z.boolean(),
  contact_links: z.array(z.object({ name: z.string(), url: z.string(), about: z.string() })),
});
export type WireIssueConfig = z.output<typeof issueConfigShape>;

export const issueTemplateEndpoints = {
  ...resource(
    {
      name: "forge.repos.issue_templates",
      path: "/api/v1/repos/:owner/:repo/issue_templates",
      params: repositoryParams,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
    },
    ({ operation }) => ({
      /** Invalid files are left out; the header `X-Gitea-Warning` counts them. */
      listIssueTemplates: operation({
        as: "list",
        method: "GET",
        summary: "The issue templates in the default branch of a repository",
        replies: { 200: z.array(issueTemplateShape) },
        refuses: [503],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.issue_config",
      path: "/api/v1/repos/:owner/:repo/issue_config",
      params: repositoryParams,
      shape: issueConfigShape,
      gate: anyoneWithin("repository"),
      on: repository("code", "read"),
      limit: readLimit,
      refuses: [503],
    },
    ({ get, operation }) => ({
      getIssueConfig: get("Whether issues may be opened without a template, and where else to go", {
        apiOnly: '"croft repo cat" shows the file; forms of clients read it',
      }),
      validateIssueConfig: operation({
        method: "GET",
        at: "validate",
        summary: "Whether the configuration of issues is valid, and why not",
        replies: { 200: z.object({ valid: z.boolean(), message: z.string() }) },
        apiOnly: "for editors of the file",
      }),
    }),
  ),
};
