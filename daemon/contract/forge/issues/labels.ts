import { z } from "zod";
import { empty, forgeUser } from "../../endpoint.ts";
import { organization, repository } from "../../permission.ts";
import { optionalFlag, optionalText, pathInteger, requiredText, wireId } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { openTo, resource } from "../resource.ts";

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
const shownInList = "croft label list shows the same members of every label";

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

const repositoryLabels = resource(
  {
    name: "forge.repos.labels",
    path: "/api/v1/repos/:owner/:repo/labels",
    params: repositoryParams,
    id: { id: pathInteger },
    shape: labelShape,
    gate: openTo("issue"),
    on: {
      read: repository("issues_or_pulls", "read"),
      change: repository("issues_or_pulls", "write"),
    },
  },
  ({ list, create, get, edit, remove }) => ({
    listLabels: list("Labels of a repository, by name"),
    createLabel: create("Create a label", newLabel),
    getLabel: get("A label by its id", { apiOnly: shownInList }),
    editLabel: edit("Change a label", labelEdit),
    deleteLabel: remove("Delete a label and take it off all issues"),
  }),
);

const organizationLabels = resource(
  {
    name: "forge.orgs.labels",
    path: "/api/v1/orgs/:org/labels",
    params: orgParams,
    id: { id: pathInteger },
    shape: labelShape,
    gate: openTo("organization"),
    on: { read: organization("viewer"), change: organization("owner") },
  },
  ({ list, create, get, edit, remove }) => ({
    listOrgLabels: list("Labels of an organization, for all of its repositories"),
    createOrgLabel: create("Create a label for all repositories of an organization", newLabel),
    getOrgLabel: get("A label of an organization by its id", {
      gate: forgeUser("organization"),
      apiOnly: shownInList,
    }),
    editOrgLabel: edit("Change a label of an organization", labelEdit),
    deleteOrgLabel: remove("Delete a label of an organization and take it off all issues"),
  }),
);

const issueLabels = resource(
  {
    name: "forge.issues.labels",
    path: "/api/v1/repos/:owner/:repo/issues/:index/labels",
    params: repositoryParams.extend({ index: pathInteger }),
    id: { id: pathInteger },
    gate: openTo("issue"),
    on: {
      read: repository("issues_or_pulls", "read"),
      change: repository("issues_or_pulls", "write"),
    },
  },
  ({ operation, remove }) => ({
    listIssueLabels: operation({
      as: "list",
      method: "GET",
      summary: "Labels of an issue, by name",
      replies: { 200: z.array(labelShape) },
      apiOnly: "croft issue view shows the labels of an issue",
    }),
    addIssueLabels: operation({
      as: "add",
      method: "POST",
      summary: "Add labels to an issue, by id or name",
      body: labelNames,
      replies: { 200: z.array(labelShape) },
    }),
    replaceIssueLabels: operation({
      as: "replace",
      method: "PUT",
      summary: "Replace the labels of an issue",
      body: labelNames,
      replies: { 200: z.array(labelShape) },
    }),
    clearIssueLabels: operation({
      as: "clear",
      method: "DELETE",
      summary: "Take all labels off an issue",
      replies: { 204: empty },
      apiOnly:
        "croft issue edit --label sets the labels of an issue; without a name it clears them",
    }),
    removeIssueLabel: remove("Take a label off an issue", { as: "remove", refuses: [422] }),
  }),
);

export const labelEndpoints = { ...repositoryLabels, ...organizationLabels, ...issueLabels };
