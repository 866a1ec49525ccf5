import { branchEndpoints } from "../../contract/forge/code/branches.ts";
import { tagEndpoints } from "../../contract/forge/code/tags.ts";
import { forkSyncEndpoints } from "../../contract/forge/repositories/forks.ts";
import type { Route, ServerRequest } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import type { OwnedRepository } from "../events.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { BranchList, Branches } from "./branches.service.ts";
import { getFirst, toCodeAddresses } from "./code-addresses.ts";
import { toAnnotatedTagView, toTagView } from "./commit.view.ts";
import type { SyncFork } from "./fork-sync.service.ts";
import { toBranchView } from "./objects.view.ts";
import { toCodeRequest } from "./open-code.ts";
import type { TagDetails, Tags } from "./tags.service.ts";

/** Routes of branches and tags, and of the update of a fork. */
export function refRoutes({
  branches,
  tags,
  syncFork,
  urls,
}: {
  readonly branches: Branches;
  readonly tags: Tags;
  readonly syncFork: SyncFork;
  readonly urls: ForgeUrls;
}): Route[] {
  const toBranches = ({ owned, branches: list, authors }: BranchList) =>
    list.map((branch) => toBranchView(branch, authors, toCodeAddresses(owned, urls)));
  const toBranch = (found: BranchList) => getFirst(toBranches(found));
  const toTag = ({ owned, tag }: { readonly owned: OwnedRepository; readonly tag: TagDetails }) =>
    toTagView(tag, toCodeAddresses(owned, urls));
  return [
    ...serve(forkSyncEndpoints, {
      syncFork: async ({ opened, body, caller, request }) => {
        const options = { branch: body.branch ?? "", isFastForwardOnly: body.ff_only ?? false };
        return { merge_type: await syncFork(opened, options, caller, request.signal) };
      },
    }),
    ...serve(branchEndpoints, {
      listBranches: async ({ query, ...input }) => {
        const found = await branches.list(toCodeRequest(input), query.q, query);
        return page(toBranches(found), found.total);
      },
      getBranch: async (input) =>
        toBranch(await branches.get(toCodeRequest(input), input.params.branch)),
      createBranch: async ({ body, ...input }) => {
        const from = { ref: body.old_ref_name ?? "", branch: body.old_branch_name ?? "" };
        return toBranch(await branches.create(toCodeRequest(input), body.new_branch_name, from));
      },
      updateBranch: ({ body, ...input }) =>
        branches.update(toCodeRequest(input), input.params.branch, {
          commit: body.new_commit_id,
          expected: body.old_commit_id ?? "",
          isForced: body.force ?? false,
        }),
      renameBranch: (input) =>
        branches.rename(toCodeRequest(input), input.params.branch, input.body.name),
      deleteBranch: (input) => {
        const expected = readExpectedCommit(input.request);
        return branches.remove(toCodeRequest(input), input.params.branch, expected);
      },
    }),
    ...serve(tagEndpoints, {
      listTags: async (input) => {
        const { owned, tags: found, total } = await tags.list(toCodeRequest(input), input.query);
        return page(
          found.map((tag) => toTag({ owned, tag })),
          total,
        );
      },
      getTag: async (input) => toTag(await tags.get(toCodeRequest(input), input.params.tag)),
      createTag: async ({ body, ...input }) => {
        const { tag_name: name, message, target } = body;
        const newTag = { name, message: message ?? "", target: target ?? "" };
        return toTag(await tags.create(toCodeRequest(input), newTag));
      },
      deleteTag: (input) => tags.remove(toCodeRequest(input), input.params.tag),
      getAnnotatedTag: async (input) => {
        const { owned, tag } = await tags.getObject(toCodeRequest(input), input.params.sha);
        return toAnnotatedTagView(tag, toCodeAddresses(owned, urls));
      },
    }),
  ];
}

/** Returns the commit in the header `If-Match`; undefined without the header and for `*`. */
function readExpectedCommit({ headers }: ServerRequest): string | undefined {
  const [, commit] = /^\s*"?([0-9a-f]{40,64})"?\s*$/i.exec(headers["if-match"] ?? "") ?? [];
  const header = headers["if-match"]?.trim() ?? "*";
  // An entity tag that is no commit matches none.
  return header === "*" ? undefined : (commit?.toLowerCase() ?? header);
}
