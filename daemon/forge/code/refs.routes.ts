import { branchEndpoints } from "../../contract/forge/code/branches.ts";
import { tagEndpoints } from "../../contract/forge/code/tags.ts";
import { forkSyncEndpoints } from "../../contract/forge/repositories/forks.ts";
import type { Route, ServerRequest } from "../../http/handle.ts";
import { handle, serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { BranchList, Branches } from "./branches.service.ts";
import { getFirst, toCodeAddresses, toSegments } from "./code-addresses.ts";
import { toCodeRequest } from "./code-request.ts";
import { toAnnotatedTagView, toTagView } from "./commit.view.ts";
import type { SyncFork } from "./fork-sync.service.ts";
import { toBranchView } from "./objects.view.ts";
import type { Tags } from "./tags.service.ts";

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
  return [
    ...serve(forkSyncEndpoints, {
      syncFork: async ({ opened, body, caller, request }) => {
        const options = { branch: body.branch ?? "", isFastForwardOnly: body.ff_only ?? false };
        return { merge_type: await syncFork(opened, options, caller, request.signal) };
      },
    }),
    handle(branchEndpoints.listBranches, async (input) => {
      const found = await branches.list(
        toCodeRequest(input, "/branches"),
        input.query.q,
        input.query,
      );
      return { status: 200, body: toBranches(found), total: found.total };
    }),
    handle(branchEndpoints.getBranch, async (input) => {
      const { branch } = input.params;
      const request = toCodeRequest(input, `/branches/${toSegments(branch)}`);
      return { status: 200, body: toBranch(await branches.get(request, branch)) };
    }),
    handle(branchEndpoints.createBranch, async (input) => {
      const from = { ref: input.body.old_ref_name ?? "", branch: input.body.old_branch_name ?? "" };
      const request = toCodeRequest(input, "/branches");
      const made = await branches.create(request, input.body.new_branch_name, from);
      return { status: 201, body: toBranch(made) };
    }),
    handle(branchEndpoints.updateBranch, async (input) => {
      const { branch } = input.params;
      await branches.update(toCodeRequest(input, `/branches/${toSegments(branch)}`), branch, {
        commit: input.body.new_commit_id,
        expected: input.body.old_commit_id ?? "",
        isForced: input.body.force ?? false,
      });
      return { status: 204 };
    }),
    handle(branchEndpoints.renameBranch, async (input) => {
      const { branch } = input.params;
      const request = toCodeRequest(input, `/branches/${toSegments(branch)}`);
      await branches.rename(request, branch, input.body.name);
      return { status: 204 };
    }),
    handle(branchEndpoints.deleteBranch, async (input) => {
      const { branch } = input.params;
      const request = toCodeRequest(input, `/branches/${toSegments(branch)}`);
      await branches.remove(request, branch, readExpectedCommit(input.request));
      return { status: 204 };
    }),
    handle(tagEndpoints.listTags, async (input) => {
      const found = await tags.list(toCodeRequest(input, "/tags"), input.query);
      const addresses = toCodeAddresses(found.owned, urls);
      const body = found.tags.map((tag) => toTagView(tag, addresses));
      return { status: 200, body, total: found.total };
    }),
    handle(tagEndpoints.getTag, async (input) => {
      const name = input.params.tag;
      const { owned, tag } = await tags.get(
        toCodeRequest(input, `/tags/${toSegments(name)}`),
        name,
      );
      return { status: 200, body: toTagView(tag, toCodeAddresses(owned, urls)) };
    }),
    handle(tagEndpoints.createTag, async (input) => {
      const { tag_name: name, message, target } = input.body;
      const newTag = { name, message: message ?? "", target: target ?? "" };
      const { owned, tag } = await tags.create(toCodeRequest(input, "/tags"), newTag);
      return { status: 201, body: toTagView(tag, toCodeAddresses(owned, urls)) };
    }),
    handle(tagEndpoints.deleteTag, async (input) => {
      const name = input.params.tag;
      await tags.remove(toCodeRequest(input, `/tags/${toSegments(name)}`), name);
      return { status: 204 };
    }),
    handle(tagEndpoints.getAnnotatedTag, async (input) => {
      const { sha } = input.params;
      const { owned, tag } = await tags.getObject(toCodeRequest(input, `/git/tags/${sha}`), sha);
      return { status: 200, body: toAnnotatedTagView(tag, toCodeAddresses(owned, urls)) };
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
