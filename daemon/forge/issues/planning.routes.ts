// Labels and milestones, and the labels that issues have.
import * as labelContract from "../../contract/forge/issues/labels.ts";
import {
  createMilestone,
  deleteMilestone,
  editMilestone,
  getMilestone,
  listMilestones,
} from "../../contract/forge/issues/milestones.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { IssueLabels } from "./issue-labels.service.ts";
import type { LabelDetails, Labels } from "./labels.service.ts";
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
  return [
    ...([labelContract.listLabels, labelContract.listOrgLabels] as const).map((declared) =>
      handle(declared, async ({ caller, params, query }) => {
        const { labels: page, total } = await labels.list(params, caller, query);
        return { status: 200, body: page.map(show), total };
      }),
    ),
    ...([labelContract.createLabel, labelContract.createOrgLabel] as const).map((declared) =>
      handle(declared, async ({ caller, params, body }) => ({
        status: 201,
        body: show(await labels.create(params, caller, toNewLabel(body))),
      })),
    ),
    ...([labelContract.getLabel, labelContract.getOrgLabel] as const).map((declared) =>
      handle(declared, async ({ caller, params }) => ({
        status: 200,
        body: show(await labels.get(params, params.id, caller)),
      })),
    ),
    ...([labelContract.editLabel, labelContract.editOrgLabel] as const).map((declared) =>
      handle(declared, async ({ caller, params, body }) => ({
        status: 200,
        body: show(await labels.edit(params, params.id, caller, toLabelEdit(body))),
      })),
    ),
    ...([labelContract.deleteLabel, labelContract.deleteOrgLabel] as const).map((declared) =>
      handle(declared, async ({ caller, params }) => {
        await labels.remove(params, params.id, caller);
        return { status: 204 };
      }),
    ),
    handle(labelContract.listIssueLabels, async ({ caller, params }) => ({
      status: 200,
      body: (await issueLabels.list(params, caller)).map(show),
    })),
    handle(labelContract.addIssueLabels, async ({ caller, params, body }) => ({
      status: 200,
      body: (await issueLabels.add(params, caller, body.labels ?? [])).map(show),
    })),
    handle(labelContract.replaceIssueLabels, async ({ caller, params, body }) => ({
      status: 200,
      body: (await issueLabels.replace(params, caller, body.labels ?? [])).map(show),
    })),
    handle(labelContract.clearIssueLabels, async ({ caller, params }) => {
      await issueLabels.replace(params, caller, []);
      return { status: 204 };
    }),
    handle(labelContract.removeIssueLabel, async ({ caller, params }) => {
      await issueLabels.remove(params, caller, params.id);
      return { status: 204 };
    }),
    handle(listMilestones, async ({ caller, params, query }) => {
      const { milestones: page, total } = await milestones.list(params, caller, query);
      return { status: 200, body: page.map(toMilestoneView), total };
    }),
    handle(createMilestone, async ({ caller, params, body }) => ({
      status: 201,
      body: toMilestoneView(await milestones.create(params, caller, toNewMilestone(body))),
    })),
    handle(getMilestone, async ({ caller, params }) => ({
      status: 200,
      body: toMilestoneView(await milestones.get(params, caller)),
    })),
    handle(editMilestone, async ({ caller, params, body }) => ({
      status: 200,
      body: toMilestoneView(await milestones.edit(params, caller, toMilestoneEdit(body))),
    })),
    handle(deleteMilestone, async ({ caller, params }) => {
      await milestones.remove(params, caller);
      return { status: 204 };
    }),
  ];
}
