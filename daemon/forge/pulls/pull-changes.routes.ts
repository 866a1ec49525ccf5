import { pullChangeEndpoints } from "../../contract/forge/pulls/pull-changes.ts";
import type { Route, ServerRequest } from "../../http/handle.ts";
import { answer } from "../../http/serve.ts";
import type { ForgeCaller } from "../caller.ts";
import { toCodeAddresses } from "../code/code-addresses.ts";
import { toCodeRequest } from "../code/open-code.ts";
import { toCommitView, toIgnoredSpace } from "../code/commit.view.ts";
import { toPageHeaders, toParts, toText } from "../code/commits.routes.ts";
import { serve } from "../handle.ts";
import type { GrantedRepository } from "../opened.ts";
import type { ForgeUrls } from "../urls.ts";
import type { PullChanges } from "./pull-changes.service.ts";
import type { UpdatePull } from "./pull-update.service.ts";
import { toChangedFileView, toUpdateStyle } from "./pull.view.ts";

/** Routes of the commits, files and diffs of pull requests. */
export function pullChangeRoutes({
  changes,
  update,
  urls,
}: {
  readonly changes: PullChanges;
  readonly update: UpdatePull;
  readonly urls: ForgeUrls;
}): Route[] {
  return serve(pullChangeEndpoints, {
    listPullCommits: async (input) => {
      const { query } = input;
      const parts = toParts({ ...query, stat: query.files });
      const { owned, commits, authors, total } = await changes.listCommits(of(input), query, parts);
      const addresses = toCodeAddresses(owned, urls);
      const body = commits.map((each) => toCommitView(each, authors, addresses, urls));
      return answer(body, { total, headers: toPageHeaders(query, total) });
    },
    listPullFiles: async (input) => {
      const { query } = input;
      const found = await changes.listFiles(of(input), query, toIgnoredSpace(query.whitespace));
      const body = found.files.map((file) => toChangedFileView(file, found, urls));
      return answer(body, { total: found.total, headers: toPageHeaders(query, found.total) });
    },
    getPullDiff: async (input) =>
      toText(
        await changes.diff(of(input), {
          isBinary: input.query.binary,
          ignoredSpace: toIgnoredSpace(input.query.whitespace),
        }),
      ),
    updatePull: async ({ opened, caller, params, query, request: { signal } }) => {
      const style = toUpdateStyle(query.style);
      await update(opened, caller, { number: params.index, style, signal });
    },
    getPullPatch: async (input) => toText(await changes.patch(of(input))),
  });
}

const of = (input: {
  readonly opened: GrantedRepository;
  readonly params: { readonly index: number };
  readonly caller: ForgeCaller | undefined;
  readonly request: ServerRequest;
}) => ({ number: input.params.index, request: toCodeRequest(input) });
