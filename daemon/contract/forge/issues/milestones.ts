import { z } from "zod";
import { anyoneWithin, empty, endpoint, forgeUser } from "../../endpoint.ts";
import {
  apiError,
  optionalText,
  optionalTime,
  paging,
  queryText,
  queryWord,
  requiredText,
  signedInReplies,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";

/** Characters of a title and of a description. */
const TITLE_MAX = 255;
const DESCRIPTION_MAX = 65_536;

export const milestoneShape = z.object({
  id: wireId,
  title: z.string(),
  description: z.string(),
  state: z.enum(["open", "closed"]),
  open_issues: z.int(),
  closed_issues: z.int(),
  created_at: wireTime,
  updated_at: wireTime.nullable(),
  closed_at: wireTime.nullable(),
  due_on: wireTime.nullable(),
});
export type WireMilestone = z.output<typeof milestoneShape>;

/** `id` is the id of a milestone, or its title. */
const milestoneParams = repositoryParams.extend({ id: z.string() });
const state = optionalText({ rules: [["In", (word) => word === "open" || word === "closed"]] });
const lookupReplies = { ...signedInReplies, 404: apiError } as const;
const changed = { ...lookupReplies, 422: apiError } as const;

export const listMilestones = endpoint({
  name: "forge.repos.milestones.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/milestones",
  summary: "Milestones of a repository, the next due first",
  gate: anyoneWithin("issue"),
  params: repositoryParams,
  query: z.object({
    state: queryWord(["open", "closed", "all"]),
    name: queryText,
    ...paging,
  }),
  paging: "link_and_total",
  replies: { 200: z.array(milestoneShape), ...lookupReplies },
});

export const createMilestone = endpoint({
  name: "forge.repos.milestones.create",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/milestones",
  summary: "Create a milestone",
  gate: forgeUser("issue"),
  params: repositoryParams,
  body: z.object({
    title: requiredText({ max: TITLE_MAX }),
    description: optionalText({ max: DESCRIPTION_MAX }),
    due_on: optionalTime,
    state,
  }),
  replies: { 201: milestoneShape, ...changed },
});

export const getMilestone = endpoint({
  name: "forge.repos.milestones.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/milestones/:id",
  summary: "A milestone by its id or title",
  gate: anyoneWithin("issue"),
  params: milestoneParams,
  replies: { 200: milestoneShape, ...lookupReplies },
});

export const editMilestone = endpoint({
  name: "forge.repos.milestones.edit",
  method: "PATCH",
  path: "/api/v1/repos/:owner/:repo/milestones/:id",
  summary: "Change a milestone, close or reopen it",
  gate: forgeUser("issue"),
  params: milestoneParams,
  body: z.object({
    title: optionalText({ max: TITLE_MAX }),
    description: optionalText({ max: DESCRIPTION_MAX }),
    due_on: optionalTime,
    state,
  }),
  replies: { 200: milestoneShape, ...changed },
});

export const deleteMilestone = endpoint({
  name: "forge.repos.milestones.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/milestones/:id",
  summary: "Delete a milestone; its issues stay",
  gate: forgeUser("issue"),
  params: milestoneParams,
  replies: { 204: empty, ...lookupReplies },
});

export const milestoneEndpoints = [
  listMilestones,
  createMilestone,
  getMilestone,
  editMilestone,
  deleteMilestone,
];
