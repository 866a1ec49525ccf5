import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import {
  apiError,
  optionalFlag,
  optionalText,
  paging,
  pathInteger,
  requiredText,
  signedInReplies,
  wireId,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";

/** Characters of a name and of a description. */
const NAME_MAX = 50;
const DESCRIPTION_MAX = 200;
/** Labels in one request. */
const LABELS_MAX = 50;

export const labelShape = z.object({
  id: wireId,
  name: z.string(),
  exclusive: z.boolean(),
  is_archived: z.boolean(),
  color: z.string(),
  description: z.string(),
  url: z.string(),
});
export type WireLabel = z.output<typeof labelShape>;

const orgParams = z.object({ org: z.string() });
const labelParams = repositoryParams.extend({ id: pathInteger });
const orgLabelParams = orgParams.extend({ id: pathInteger });
const issueParams = repositoryParams.extend({ index: pathInteger });

const newLabel = z.object({
  name: requiredText({ max: NAME_MAX }),
  color: requiredText({ max: 20 }),
  description: optionalText({ max: DESCRIPTION_MAX }),
  exclusive: optionalFlag,
  is_archived: optionalFlag,
});
const labelEdit = z.object({
  name: optionalText({ max: NAME_MAX }),
  color: optionalText({ max: 20 }),
  description: optionalText({ max: DESCRIPTION_MAX }),
  exclusive: optionalFlag,
  is_archived: optionalFlag,
});
/** Labels by id or by name. */
const labelNames = z.object({
  labels: z
    .array(z.union([z.int(), z.string()], { error: "a label must be an integer or a string" }))
    .max(LABELS_MAX, { error: "MaxSize" })
    .nullish(),
});

const lookupReplies = { ...signedInReplies, 404: apiError } as const;
const changed = { ...lookupReplies, 422: apiError } as const;

export const listLabels = endpoint({
  name: "forge.repos.labels.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/labels",
  summary: "Labels of a repository, by name",
  gate: anyoneWithin("issue"),
  params: repositoryParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(labelShape), ...lookupReplies },
});

export const createLabel = endpoint({
  name: "forge.repos.labels.create",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/labels",
  summary: "Create a label",
  gate: forgeUser("issue"),
  params: repositoryParams,
  body: newLabel,
  replies: { 201: labelShape, ...changed },
});

export const getLabel = endpoint({
  name: "forge.repos.labels.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/labels/:id",
  summary: "A label by its id",
  gate: anyoneWithin("issue"),
  params: labelParams,
  replies: { 200: labelShape, ...lookupReplies },
  apiOnly: "croft label list shows the same members of every label",
});

export const editLabel = endpoint({
  name: "forge.repos.labels.edit",
  method: "PATCH",
  path: "/api/v1/repos/:owner/:repo/labels/:id",
  summary: "Change a label",
  gate: forgeUser("issue"),
  params: labelParams,
  body: labelEdit,
  replies: { 200: labelShape, ...changed },
});

export const deleteLabel = endpoint({
  name: "forge.repos.labels.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/labels/:id",
  summary: "Delete a label and take it off all issues",
  gate: forgeUser("issue"),
  params: labelParams,
  replies: { 204: empty, ...lookupReplies },
});

export const listOrgLabels = endpoint({
  name: "forge.orgs.labels.list",
  method: "GET",
  path: "/api/v1/orgs/:org/labels",
  summary: "Labels of an organization, for all of its repositories",
  gate: anyoneWithin("organization"),
  params: orgParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(labelShape), ...lookupReplies },
});

export const createOrgLabel = endpoint({
  name: "forge.orgs.labels.create",
  method: "POST",
  path: "/api/v1/orgs/:org/labels",
  summary: "Create a label for all repositories of an organization",
  gate: forgeUser("organization"),
  params: orgParams,
  body: newLabel,
  replies: { 201: labelShape, ...changed },
});

export const getOrgLabel = endpoint({
  name: "forge.orgs.labels.get",
  method: "GET",
  path: "/api/v1/orgs/:org/labels/:id",
  summary: "A label of an organization by its id",
  gate: forgeUser("organization"),
  params: orgLabelParams,
  replies: { 200: labelShape, ...lookupReplies },
  apiOnly: "croft label list shows the same members of every label",
});

export const editOrgLabel = endpoint({
  name: "forge.orgs.labels.edit",
  method: "PATCH",
  path: "/api/v1/orgs/:org/labels/:id",
  summary: "Change a label of an organization",
  gate: forgeUser("organization"),
  params: orgLabelParams,
  body: labelEdit,
  replies: { 200: labelShape, ...changed },
});

export const deleteOrgLabel = endpoint({
  name: "forge.orgs.labels.delete",
  method: "DELETE",
  path: "/api/v1/orgs/:org/labels/:id",
  summary: "Delete a label of an organization and take it off all issues",
  gate: forgeUser("organization"),
  params: orgLabelParams,
  replies: { 204: empty, ...lookupReplies },
});

export const listIssueLabels = endpoint({
  name: "forge.issues.labels.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/issues/:index/labels",
  summary: "Labels of an issue, by name",
  gate: anyoneWithin("issue"),
  params: issueParams,
  replies: { 200: z.array(labelShape), ...lookupReplies },
  apiOnly: "croft issue view shows the labels of an issue",
});

export const addIssueLabels = endpoint({
  name: "forge.issues.labels.add",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/issues/:index/labels",
  summary: "Add labels to an issue, by id or name",
  gate: forgeUser("issue"),
  params: issueParams,
  body: labelNames,
  replies: { 200: z.array(labelShape), ...changed },
});

export const replaceIssueLabels = endpoint({
  name: "forge.issues.labels.replace",
  method: "PUT",
  path: "/api/v1/repos/:owner/:repo/issues/:index/labels",
  summary: "Replace the labels of an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  body: labelNames,
  replies: { 200: z.array(labelShape), ...changed },
});

export const clearIssueLabels = endpoint({
  name: "forge.issues.labels.clear",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/labels",
  summary: "Take all labels off an issue",
  gate: forgeUser("issue"),
  params: issueParams,
  replies: { 204: empty, ...changed },
  apiOnly: "croft issue edit --label sets the labels of an issue; without a name it clears them",
});

export const removeIssueLabel = endpoint({
  name: "forge.issues.labels.remove",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/issues/:index/labels/:id",
  summary: "Take a label off an issue",
  gate: forgeUser("issue"),
  params: issueParams.extend({ id: pathInteger }),
  replies: { 204: empty, ...changed },
});

export const labelEndpoints = [
  listLabels,
  createLabel,
  getLabel,
  editLabel,
  deleteLabel,
  listOrgLabels,
  createOrgLabel,
  getOrgLabel,
  editOrgLabel,
  deleteOrgLabel,
  listIssueLabels,
  addIssueLabels,
  replaceIssueLabels,
  clearIssueLabels,
  removeIssueLabel,
];
