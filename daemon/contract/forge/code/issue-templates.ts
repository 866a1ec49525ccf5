import { z } from "zod";
import { anyoneWithin, endpoint } from "../../endpoint.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { readLimit, refusedReadReplies } from "./shapes.ts";

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

/** Invalid files are left out; the header `X-Gitea-Warning` counts them. */
export const listIssueTemplates = endpoint({
  name: "forge.repos.issue_templates.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issue_templates",
  summary: "The issue templates in the default branch of a repository",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams,
  replies: { 200: z.array(issueTemplateShape), ...refusedReadReplies },
});

export const getIssueConfig = endpoint({
  name: "forge.repos.issue_config.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issue_config",
  summary: "Whether issues may be opened without a template, and where else to go",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams,
  replies: { 200: issueConfigShape, ...refusedReadReplies },
  apiOnly: '"croft repo cat" shows the file; forms of clients read it',
});

export const validateIssueConfig = endpoint({
  name: "forge.repos.issue_config.validate",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issue_config/validate",
  summary: "Whether the configuration of issues is valid, and why not",
  gate: anyoneWithin("repository"),
  limit: readLimit,
  params: repositoryParams,
  replies: { 200: z.object({ valid: z.boolean(), message: z.string() }), ...refusedReadReplies },
  apiOnly: "for editors of the file",
});

export const issueTemplateEndpoints = { listIssueTemplates, getIssueConfig, validateIssueConfig };
