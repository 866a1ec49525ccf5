import type { ForgeMilestone } from "../../../storage/tables/forge/issues/milestones.ts";
import type { MilestoneFields } from "../../../storage/tables/forge/issues/milestones.ts";
import type { BodyOf } from "../../contract/endpoint.ts";
import type { labelEndpoints, WireLabel } from "../../contract/forge/issues/labels.ts";
import type { milestoneEndpoints, WireMilestone } from "../../contract/forge/issues/milestones.ts";
import { AppError } from "../../errors.ts";
import { type ForgeUrls, toApiUrl, toWireTime } from "../urls.ts";
import type { LabelDetails, LabelEdit, LabelFields } from "./labels.service.ts";
import type { MilestoneEdit } from "./milestones.service.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** Converts a label. Its address is below its organization or its repository. */
export function toLabelView({ label, place }: LabelDetails, urls: ForgeUrls): WireLabel {
  const home =
    "organization" in place
      ? `/orgs/${place.organization.name}`
      : toRepositoryHome(label.orgId, place);
  return {
    id: label.id,
    name: label.name,
    exclusive: label.isExclusive,
    is_archived: label.archivedAt !== undefined,
    color: label.color,
    description: label.description,
    url: toApiUrl(urls, `${home}/labels/${label.id}`),
  };
}

function toRepositoryHome(
  orgId: UserId | undefined,
  { repository, owner }: Exclude<LabelDetails["place"], { readonly organization: object }>,
): string {
  return orgId === undefined ? `/repos/${owner.name}/${repository.name}` : `/orgs/${owner.name}`;
}

export function toNewLabel(body: BodyOf<typeof labelEndpoints.createLabel>): LabelFields {
  return {
    name: body.name,
    color: toColor(body.color),
    description: body.description ?? "",
    isExclusive: body.exclusive ?? false,
    isArchived: body.is_archived ?? false,
  };
}

export function toLabelEdit(body: BodyOf<typeof labelEndpoints.editLabel>): LabelEdit {
  return {
    name: body.name || undefined,
    color: body.color == null ? undefined : toColor(body.color),
    description: body.description ?? undefined,
    isExclusive: body.exclusive ?? undefined,
    isArchived: body.is_archived ?? undefined,
  };
}

/** Converts `#abc` and ` AABBCC` to six digits in lower case. Throws `unprocessable` for anything else. */
function toColor(written: string): string {
  const digits = written.trim().replace(/^#/, "").toLowerCase();
  if (/^[0-9a-f]{6}$/.test(digits)) return digits;
  if (/^[0-9a-f]{3}$/.test(digits)) return digits.replace(/./g, "$&$&");
  throw new AppError("unprocessable", `bad color code: ${written.slice(0, 20)}`);
}

export function toMilestoneView(milestone: ForgeMilestone): WireMilestone {
  const toTime = (at: number | undefined) => (at === undefined ? null : toWireTime(at));
  return {
    id: milestone.id,
    title: milestone.title,
    description: milestone.description,
    state: milestone.isClosed ? "closed" : "open",
    open_issues: milestone.openIssueCount,
    closed_issues: milestone.closedIssueCount,
    created_at: toWireTime(milestone.createdAt),
    updated_at: toWireTime(milestone.updatedAt),
    closed_at: toTime(milestone.closedAt),
    due_on: toTime(milestone.dueAt),
  };
}

export function toNewMilestone(
  body: BodyOf<typeof milestoneEndpoints.createMilestone>,
): MilestoneFields {
  return {
    title: body.title,
    description: body.description ?? "",
    isClosed: body.state === "closed",
    dueAt: toEndOfDay(body.due_on) ?? undefined,
  };
}

export function toMilestoneEdit(
  body: BodyOf<typeof milestoneEndpoints.editMilestone>,
): MilestoneEdit {
  return {
    title: body.title || undefined,
    description: body.description ?? undefined,
    isClosed: body.state == null || body.state === "" ? undefined : body.state === "closed",
    dueAt: toEndOfDay(body.due_on),
  };
}

/**
 * Returns the last second of a time's day in its own time zone: due dates are days in the reference. Returns null for a
 * time before 1970, which clients written in Go send to remove a due date, and undefined for an absent time.
 */
export function toEndOfDay(time: string | null | undefined): number | null | undefined {
  if (time == null) return undefined;
  if (!(Date.parse(time) > 0)) return null;
  return Date.parse(`${time.slice(0, 10)}T23:59:59Z`);
}
