import { type MergeBody, mergeEndpoints } from "../../contract/forge/pulls/merges.ts";
import type { Route } from "../../http/handle.ts";
import { serve } from "../handle.ts";
import type { AutoMerges } from "./auto-merges.service.ts";
import type { MergeRequest, Merges } from "./merges.service.ts";

export function mergeRoutes({
  merges,
  autoMerges,
}: {
  readonly merges: Merges;
  readonly autoMerges: AutoMerges;
}): Route[] {
  return serve(mergeEndpoints, {
    getMerge: ({ opened, params }) => merges.assertMerged(opened, params.index),
    createMerge: async ({ opened, caller, params, body }) => {
      const isScheduled = body.merge_when_checks_succeed === true && body.do !== "manually-merged";
      const merge = isScheduled ? autoMerges.schedule : merges.merge;
      await merge(opened, caller, params.index, toMergeRequest(body));
      return isScheduled ? ({ status: 201 } as const) : ({ status: 200 } as const);
    },
    deleteMerge: ({ opened, caller, params }) => autoMerges.cancel(opened, caller, params.index),
  });
}

function toMergeRequest(body: MergeBody): MergeRequest {
  return {
    style: body.do,
    title: body.merge_title_field ?? body.MergeTitleField ?? "",
    text: body.merge_message_field ?? body.MergeMessageField ?? "",
    manualCommit: body.merge_commit_id ?? body.MergeCommitID ?? "",
    headCommit: body.head_commit_id ?? "",
    isForced: body.force_merge === true,
    deletesBranch: body.delete_branch_after_merge ?? undefined,
  };
}
