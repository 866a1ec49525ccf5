import type { WireWorkflow } from "../../../contract/forge/actions/workflows.ts";
import { type ForgeUrls, toApiUrl, toUrl } from "../../urls.ts";
import type { WorkflowDetails, Workflows } from "./workflows.service.ts";

/** A dispatch has an empty response unless its client asks for the run. */
export function toDispatched(
  { owned, run }: Awaited<ReturnType<Workflows["dispatch"]>>,
  hasDetails: boolean,
  urls: ForgeUrls,
) {
  if (!hasDetails) return { status: 204 } as const;
  const path = `${owned.owner.name}/${owned.repository.name}/actions/runs/${run.id}`;
  const body = {
    workflow_run_id: run.id,
    run_url: toApiUrl(urls, `/repos/${path}`),
    html_url: toUrl(urls, `/${path}`),
  };
  return { status: 200, body } as const;
}

/** A workflow file; its times are those of the newest commit. */
export function toWorkflowView(
  { owned, file, folder, name, isDisabled, at }: WorkflowDetails,
  urls: ForgeUrls,
): WireWorkflow {
  const { owner, repository } = owned;
  const home = `${owner.name}/${repository.name}`;
  const escaped = encodeURIComponent(file);
  const branch = encodeURIComponent(repository.defaultBranch);
  return {
    id: file,
    name,
    path: `${folder}/${file}`,
    state: isDisabled ? "disabled_manually" : "active",
    created_at: at,
    updated_at: at,
    url: toApiUrl(urls, `/repos/${home}/actions/workflows/${escaped}`),
    html_url: toUrl(urls, `/${home}/src/branch/${branch}/${folder}/${escaped}`),
    badge_url: toUrl(urls, `/${home}/actions/workflows/${escaped}/badge.svg?branch=${branch}`),
  };
}
