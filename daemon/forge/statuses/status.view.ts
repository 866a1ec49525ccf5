import type { z } from "zod";
import type { BodyOf } from "../../contract/endpoint.ts";
import {
  type statusEndpoints,
  type combinedStatusShape,
  statusStates,
  type WireCommitStatus,
} from "../../contract/forge/repositories/statuses.ts";
import type { CommitStatus } from "../../../storage/tables/forge/repositories/statuses.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import { type ForgeUrls, toApiUrl, toWireTime } from "../urls.ts";
import type { StatusDetails } from "../events.ts";
import type { CombinedStatus } from "./statuses.service.ts";

export function toStatusView(
  { owned, status, creator }: StatusDetails,
  urls: ForgeUrls,
): WireCommitStatus {
  const at = toWireTime(status.createdAt);
  const home = `/repos/${owned.owner.name}/${owned.repository.name}`;
  return {
    id: status.id,
    status: status.state,
    target_url: status.targetUrl,
    description: status.description,
    url: toApiUrl(urls, `${home}/statuses/${status.commitId}`),
    context: status.context,
    creator: creator === undefined ? null : toEmbeddedUserView(creator, false, urls),
    created_at: at,
    updated_at: at,
  };
}

export function toCombinedView(
  { repository, commitId, state, statuses, total }: CombinedStatus,
  urls: ForgeUrls,
): z.input<typeof combinedStatusShape> {
  const home = `/repos/${repository.owner.name}/${repository.repository.name}`;
  return {
    state,
    sha: commitId,
    total_count: total,
    statuses: statuses.map((each) => toStatusView(each, urls)),
    repository: toRepositoryView(repository, urls),
    commit_url: toApiUrl(urls, `${home}/commits/${commitId}`),
    url: toApiUrl(urls, `${home}/commits/${commitId}/status`),
  };
}

/** Returns the status that a body reports. */
export function toReport(
  body: BodyOf<typeof statusEndpoints.createCommitStatus>,
): Pick<CommitStatus, "state" | "targetUrl" | "description" | "context"> {
  return {
    state: statusStates.find((state) => state === body.state) ?? "pending",
    targetUrl: body.target_url ?? "",
    description: body.description ?? "",
    context: body.context?.trim() ?? "",
  };
}
