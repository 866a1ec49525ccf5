import type { RefEntry } from "../../../storage/git/ref-lists.ts";
import type { WireBranch } from "../../contract/forge/code/branches.ts";
import type { WireBlob, WireReference, WireTree } from "../../contract/forge/code/objects.ts";
import type { BranchDetails } from "./branches.service.ts";
import type { Authors } from "./authors.ts";
import { toPayloadCommitView } from "./commit.view.ts";
import { type CodeAddresses, toSegments } from "./code-addresses.ts";
import type { Blob, TreePage } from "./objects.service.ts";

/** Returns a branch with what its rule requires of pull requests. */
export function toBranchView(
  { name, commit, canPush, canMerge, rule, isAdministered }: BranchDetails,
  authors: Authors,
  addresses: CodeAddresses,
): WireBranch {
  return {
    name,
    commit: toPayloadCommitView(commit, authors, addresses),
    protected: rule !== undefined,
    required_approvals: rule?.settings.requiredApprovals ?? 0,
    enable_status_check: rule?.settings.flags["enable_status_check"] ?? false,
    status_check_contexts: rule?.settings.statusCheckContexts ?? [],
    user_can_push: canPush,
    user_can_merge: canMerge,
    effective_branch_protection_name: isAdministered ? (rule?.ruleName ?? "") : "",
  };
}

export function toReferenceView(
  { name, type, id }: RefEntry,
  { api }: CodeAddresses,
): WireReference {
  return {
    ref: name,
    url: `${api}/git/${toSegments(name)}`,
    object: { type, sha: id, url: `${api}/git/${type}s/${id}` },
  };
}

/** Returns a single object when the prefix is the full name of the only ref, else the list of the refs. */
export function toRefsView(
  refs: readonly RefEntry[],
  prefix: string,
  addresses: CodeAddresses,
): WireReference | WireReference[] {
  const list = refs.map((ref) => toReferenceView(ref, addresses));
  const [only] = list;
  return only !== undefined && list.length === 1 && only.ref === `refs/${prefix}` ? only : list;
}

export function toTreeView(
  { id, entries, total, page, limit }: TreePage,
  { api }: CodeAddresses,
): WireTree {
  const toAddress = { tree: `${api}/git/trees/`, blob: `${api}/git/blobs/`, commit: undefined };
  return {
    sha: id,
    url: `${api}/git/trees/${id}`,
    // The list has no entries past its end.
    tree:
      entries.length === 0 && page > 1
        ? null
        : entries.map(({ path, mode, type, size, id: sha }) => {
            const address = toAddress[type];
            return { path, mode, type, size, sha, url: address === undefined ? "" : address + sha };
          }),
    truncated: page * limit < total,
    page,
    total_count: total,
  };
}

export function toBlobView({ info, content }: Blob, { api }: CodeAddresses): WireBlob {
  return {
    content: content === undefined ? null : content.toString("base64"),
    encoding: content === undefined ? null : "base64",
    url: `${api}/git/blobs/${info.id}`,
    sha: info.id,
    size: info.size,
  };
}
