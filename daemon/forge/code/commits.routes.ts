import { commitEndpoints } from "../../contract/forge/code/commits.ts";
import { objectEndpoints, TREE_PAGE_MAX } from "../../contract/forge/code/objects.ts";
import type { AnswerHeaders, BytesAnswer, Route } from "../../http/handle.ts";
import { answer, page } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import type { PageWindow } from "../page-window.ts";
import type { ForgeUrls } from "../urls.ts";
import { getFirst, toCodeAddresses } from "./code-addresses.ts";
import { toCodeRequest } from "./open-code.ts";
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
    ({ status: 200, body: { total_commits: found.total, commits: toCommits(found) } }) as const;
  return [
    ...serve(commitEndpoints, {
      listCommits: async ({ query, ...input }) => {
        const request = toCodeRequest(input);
        const found = await commits.list(request, query, query, toParts(query));
        const { total } = found;
        return answer(toCommits(found), { total, headers: toPageHeaders(query, total) });
      },
      getCommit: async ({ params, query, ...input }) => {
        const found = await commits.get(toCodeRequest(input), params.sha, toParts(query));
        return getFirst(toCommits(found));
      },
      getCommitDiff: async ({ params, query, ...input }) => {
        const ignored = toIgnoredSpace(query.whitespace);
        return toText(await commits.diff(toCodeRequest(input), params.sha, "diff", ignored));
      },
      getCommitPatch: async (input) =>
        toText(await commits.diff(toCodeRequest(input), input.params.sha, "patch")),
      compare: async ({ params: { basehead }, query, ...input }) => {
        const request = toCodeRequest(input);
        const { output, whitespace } = query;
        return output === "diff" || output === "patch"
          ? toText(await commits.compareText(request, basehead, output, toIgnoredSpace(whitespace)))
          : toComparison(await commits.compare(request, basehead, toParts(query)));
      },
    }),
    ...serve(objectEndpoints, {
      listGitRefs: async (input) => {
        const { owned, refs, total } = await objects.listRefs(toCodeRequest(input), "");
        const addresses = toCodeAddresses(owned, urls);
        return page(
          refs.map((ref) => toReferenceView(ref, addresses)),
          total,
        );
      },
      getGitRefs: async (input) => {
        const { ref: name } = input.params;
        const { owned, refs, total } = await objects.listRefs(toCodeRequest(input), name);
        return answer(toRefsView(refs, name, toCodeAddresses(owned, urls)), { total });
      },
      getTree: async ({ params, query, ...input }) => {
        const window = toTreeWindow(query);
        const tree = await objects.getTree(toCodeRequest(input), params.sha, window);
        return toTreeView(tree, toCodeAddresses(tree.owned, urls));
      },
      getBlob: async (input) => {
        const blob = await objects.getBlob(toCodeRequest(input), input.params.sha);
        return toBlobView(blob, toCodeAddresses(blob.owned, urls));
      },
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
