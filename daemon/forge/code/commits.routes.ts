import { commitEndpoints } from "../../contract/forge/code/commits.ts";
import { objectEndpoints, TREE_PAGE_MAX } from "../../contract/forge/code/objects.ts";
import type { AnswerHeaders, BytesAnswer, Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { PageWindow } from "../page-window.ts";
import type { ForgeUrls } from "../urls.ts";
import { getFirst, toCodeAddresses, toSegments } from "./code-addresses.ts";
import { toCodeRequest } from "./code-request.ts";
import type { CodeStream } from "./code-stream.ts";
import { toCommitView, toIgnoredSpace } from "./commit.view.ts";
import type { CommitList, CommitParts, Commits } from "./commits.service.ts";
import type { GitObjects } from "./objects.service.ts";
import { toBlobView, toReferenceView, toRefsView, toTreeView } from "./objects.view.ts";

/** Routes of commits, comparisons and git's own objects. */
export function commitRoutes({
  commits,
  objects,
  urls,
}: {
  readonly commits: Commits;
  readonly objects: GitObjects;
  readonly urls: ForgeUrls;
}): Route[] {
  const toCommits = ({ owned, commits: list, authors }: CommitList) =>
    list.map((each) => toCommitView(each, authors, toCodeAddresses(owned, urls), urls));
  const toComparison = (found: CommitList) =>
    ({
      status: 200,
      body: { total_commits: found.total, commits: toCommits(found) },
    }) as const;
  return [
    handle(commitEndpoints.listCommits, async (input) => {
      const { query } = input;
      const request = toCodeRequest(input, "/commits");
      const found = await commits.list(request, query, query, toParts(query));
      const headers = toPageHeaders(query, found.total);
      return { status: 200, body: toCommits(found), total: found.total, headers };
    }),
    handle(commitEndpoints.getCommit, async (input) => {
      const { sha } = input.params;
      const request = toCodeRequest(input, `/git/commits/${toSegments(sha)}`);
      const found = await commits.get(request, sha, toParts(input.query));
      return { status: 200, body: getFirst(toCommits(found)) };
    }),
    handle(commitEndpoints.getCommitDiff, async (input) => {
      const { sha } = input.params;
      const request = toCodeRequest(input, `/git/commits/${toSegments(sha)}.diff`);
      const ignored = toIgnoredSpace(input.query.whitespace);
      return toText(await commits.diff(request, sha, "diff", ignored));
    }),
    handle(commitEndpoints.getCommitPatch, async (input) => {
      const { sha } = input.params;
      const request = toCodeRequest(input, `/git/commits/${toSegments(sha)}.patch`);
      return toText(await commits.diff(request, sha, "patch"));
    }),
    handle(commitEndpoints.compare, async (input) => {
      const { basehead } = input.params;
      const { output, whitespace } = input.query;
      const request = toCodeRequest(input, `/compare/${toSegments(basehead)}`);
      return output === "diff" || output === "patch"
        ? toText(await commits.compareText(request, basehead, output, toIgnoredSpace(whitespace)))
        : toComparison(await commits.compare(request, basehead, toParts(input.query)));
    }),
    handle(objectEndpoints.listGitRefs, async (input) => {
      const { owned, refs, total } = await objects.listRefs(toCodeRequest(input, "/git/refs"), "");
      const addresses = toCodeAddresses(owned, urls);
      return { status: 200, body: refs.map((ref) => toReferenceView(ref, addresses)), total };
    }),
    handle(objectEndpoints.getGitRefs, async (input) => {
      const { ref: name } = input.params;
      const request = toCodeRequest(input, `/git/refs/${toSegments(name)}`);
      const { owned, refs, total } = await objects.listRefs(request, name);
      return { status: 200, body: toRefsView(refs, name, toCodeAddresses(owned, urls)), total };
    }),
    handle(objectEndpoints.getTree, async (input) => {
      const { sha } = input.params;
      const request = toCodeRequest(input, `/git/trees/${toSegments(sha)}`);
      const tree = await objects.getTree(request, sha, toTreeWindow(input.query));
      return { status: 200, body: toTreeView(tree, toCodeAddresses(tree.owned, urls)) };
    }),
    handle(objectEndpoints.getBlob, async (input) => {
      const { sha } = input.params;
      const blob = await objects.getBlob(toCodeRequest(input, `/git/blobs/${sha}`), sha);
      return { status: 200, body: toBlobView(blob, toCodeAddresses(blob.owned, urls)) };
    }),
  ];
}

/** Pagination headers for clients that read neither `Link` nor `X-Total-Count`. */
export function toPageHeaders({ page, limit }: PageWindow, total: number): AnswerHeaders {
  const pages = Math.ceil(total / limit);
  return {
    "X-Page": String(page),
    "X-PerPage": String(limit),
    "X-Total": String(total),
    "X-PageCount": String(pages),
    "X-HasMore": String(page < pages),
  };
}

function toTreeWindow(query: {
  readonly page: number;
  readonly per_page: number;
  readonly recursive: boolean;
}) {
  const size = query.per_page;
  return {
    page: Math.max(query.page, 1),
    limit: size >= 1 && size <= TREE_PAGE_MAX ? size : TREE_PAGE_MAX,
    isRecursive: query.recursive,
  };
}

/** Every part is included unless the request excludes it. */
export function toParts(query: {
  readonly stat?: boolean | undefined;
  readonly files?: boolean | undefined;
  readonly verification?: boolean | undefined;
}): CommitParts {
  return {
    withStats: query.stat ?? true,
    withFiles: query.files ?? true,
    withVerification: query.verification ?? true,
  };
}

export function toText({ stream, giveUp }: CodeStream): BytesAnswer {
  return {
    status: 200,
    bytes: {
      size: undefined,
      contentType: "text/plain; charset=utf-8",
      etag: undefined,
      lastModified: undefined,
      open: async () => stream,
      release: giveUp,
    },
  };
}
