import { z } from "zod";
import { repository } from "../../permission.ts";
import {
  optionalText,
  optionalTime,
  queryText,
  queryWord,
  requiredText,
  wireId,
  wireTime,
} from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { openTo, resource } from "../resource.ts";

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

const state = optionalText({ rules: [["In", (word) => word === "open" || word === "closed"]] });

/** Milestones of repositories; `id` is the id of a milestone, or its title. */
export const milestoneEndpoints = resource(
  {
    name: "forge.repos.milestones",
    path: "/api/v1/repos/:owner/:repo/milestones",
    params: repositoryParams,
    id: { id: z.string() },
    shape: milestoneShape,
    gate: openTo("issue"),
    on: {
      read: repository("issues_or_pulls", "read"),
      change: repository("issues_or_pulls", "write"),
    },
  },
  ({ list, create, get, edit, remove }) => ({
    listMilestones: list("Milestones of a repository, the next due first", {
      filters: { state: queryWord(["open", "closed", "all"]), name: queryText },
    }),
    createMilestone: create(
      "Create a milestone",
      z.object({
        title: requiredText({ max: TITLE_MAX }),
        description: optionalText({ max: DESCRIPTION_MAX }),
        due_on: optionalTime,
        state,
      }),
    ),
    getMilestone: get("A milestone by its id or title"),
    editMilestone: edit(
      "Change a milestone, close or reopen it",
      z.object({
        title: optionalText({ max: TITLE_MAX }),
        description: optionalText({ max: DESCRIPTION_MAX }),
        due_on: optionalTime,
        state,
      }),
    ),
    deleteMilestone: remove("Delete a milestone; its issues stay"),
  }),
);
