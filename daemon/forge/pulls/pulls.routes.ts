import { pullEndpoints } from "../../contract/forge/pulls/pulls.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toListedPullView, toNewPull, toPullEdit, toPullView } from "./pull.view.ts";
import type { PullEdits } from "./pull-edits.service.ts";
import type { RevertPull } from "./pull-revert.service.ts";
import type { Pulls } from "./pulls.service.ts";

export function pullRoutes({
  pulls,
  edits,
  revert,
  urls,
}: {
  readonly pulls: Pulls;
  readonly edits: PullEdits;
  readonly revert: RevertPull;
  readonly urls: ForgeUrls;
}): Route[] {
  return serve(pullEndpoints, {
    listPulls: async ({ opened, query }) => {
      const { pulls: found, total } = await pulls.list(opened, query);
      return page(
        found.map((each) => toListedPullView(each, urls)),
        total,
      );
    },
    createPull: async ({ opened, caller, body }) =>
      toPullView(await pulls.create(opened, caller, toNewPull(body)), urls),
    getPull: async ({ opened, params }) => toPullView(await pulls.get(opened, params.index), urls),
    editPull: async ({ opened, caller, params, body }) =>
      toPullView(await edits.edit(opened, caller, params.index, toPullEdit(body)), urls),
    revertPull: async ({ opened, caller, params, body, request: { signal } }) => {
      const { branch, title, body: text } = body;
      const request = { branch: branch ?? "", title: title ?? "", text: text ?? "", signal };
      return toPullView(await revert(opened, caller, { number: params.index, ...request }), urls);
    },
    listPinnedPulls: async ({ opened }) =>
      (await pulls.listPinned(opened)).map((each) => toListedPullView(each, urls)),
    getPullOfBranches: async ({ opened, params }) =>
      toPullView(await pulls.getOfBranches(opened, params.base, params.head), urls),
    getPullOfCommit: async ({ opened, params }) =>
      toPullView(await pulls.getOfCommit(opened, params.sha), urls),
  });
}
