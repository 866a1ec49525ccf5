// Labels and milestones, and the labels that issues have.
import type { BodyOf } from "../../contract/endpoint.ts";
import { labelEndpoints } from "../../contract/forge/issues/labels.ts";
import { milestoneEndpoints } from "../../contract/forge/issues/milestones.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve } from "../handle.ts";
import type { PageWindow } from "../page-window.ts";
import type { GrantedRepository } from "../opened.ts";
import type { ForgeUrls } from "../urls.ts";
import type { IssueLabels } from "./issue-labels.service.ts";
import type { LabelDetails, LabelPlace, Labels } from "./labels.service.ts";
import type { Milestones } from "./milestones.service.ts";
import {
  toLabelEdit,
  toLabelView,
  toMilestoneEdit,
  toMilestoneView,
  toNewLabel,
  toNewMilestone,
} from "./planning.view.ts";

export function planningRoutes({
  labels,
  issueLabels,
  milestones,
  urls,
}: {
  readonly labels: Labels;
  readonly issueLabels: IssueLabels;
  readonly milestones: Milestones;
  readonly urls: ForgeUrls;
}): Route[] {
  const show = (details: LabelDetails) => toLabelView(details, urls);
  const showAll = (details: readonly LabelDetails[]) => details.map(show);
  const ofPlace = {
    list: async ({ opened, query }: { opened: LabelPlace; query: PageWindow }) => {
      const { labels: found, total } = await labels.list(opened, query);
      return page(showAll(found), total);
    },
    create: async ({ opened, body }: { opened: LabelPlace; body: NewLabelBody }) =>
      show(await labels.create(opened, toNewLabel(body))),
    get: async ({ opened, params }: { opened: LabelPlace; params: { id: number } }) =>
      show(await labels.get(opened, params.id)),
    edit: async ({
      opened,
      params,
      body,
    }: {
      opened: LabelPlace;
      params: { id: number };
      body: LabelEditBody;
    }) => show(await labels.edit(opened, params.id, toLabelEdit(body))),
    remove: ({ opened, params }: { opened: LabelPlace; params: { id: number } }) =>
      labels.remove(opened, params.id),
  };
  const toIssue = ({ opened, params, caller }: IssueInput) => ({
    opened,
    number: params.index,
    caller,
  });
  return [
    ...serve(labelEndpoints, {
      listLabels: ofPlace.list,
      createLabel: ofPlace.create,
      getLabel: ofPlace.get,
      editLabel: ofPlace.edit,
      deleteLabel: ofPlace.remove,
      listOrgLabels: ofPlace.list,
      createOrgLabel: ofPlace.create,
      getOrgLabel: ofPlace.get,
      editOrgLabel: ofPlace.edit,
      deleteOrgLabel: ofPlace.remove,
      listIssueLabels: async ({ opened, params }) =>
        showAll(await issueLabels.list(opened, params.index)),
      addIssueLabels: async (input) =>
        showAll(await issueLabels.add(toIssue(input), input.body.labels ?? [])),
      replaceIssueLabels: async (input) =>
        showAll(await issueLabels.replace(toIssue(input), input.body.labels ?? [])),
      clearIssueLabels: async (input) => {
        await issueLabels.replace(toIssue(input), []);
      },
      removeIssueLabel: async (input) => {
        await issueLabels.remove(toIssue(input), input.params.id);
      },
    }),
    ...serve(milestoneEndpoints, {
      listMilestones: async ({ opened, query }) => {
        const { milestones: found, total } = await milestones.list(opened, query);
        return page(found.map(toMilestoneView), total);
      },
      createMilestone: async ({ opened, body }) =>
        toMilestoneView(await milestones.create(opened, toNewMilestone(body))),
      getMilestone: async ({ opened, params }) =>
        toMilestoneView(await milestones.get(opened, params.id)),
      editMilestone: async ({ opened, params, body }) =>
        toMilestoneView(await milestones.edit(opened, params.id, toMilestoneEdit(body))),
      deleteMilestone: ({ opened, params }) => milestones.remove(opened, params.id),
    }),
  ];
}

type NewLabelBody = BodyOf<typeof labelEndpoints.createLabel>;
type LabelEditBody = BodyOf<typeof labelEndpoints.editLabel>;

/** The input of a change of an issue's labels. */
interface IssueInput {
  readonly opened: GrantedRepository;
  readonly params: { readonly index: number };
  readonly caller: ForgeCaller;
}
