import { browsingEndpoints } from "../../contract/forge/code/browsing.ts";
import type { Route, ServerRequest } from "../../http/handle.ts";
import { answer, page } from "../../http/serve.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Browsing } from "./browsing.service.ts";

/** Routes of blame, of the search of code and file names, of contributors and of diverged branches. */
export function browsingRoutes({
  browsing,
  urls,
}: {
  readonly browsing: Browsing;
  readonly urls: ForgeUrls;
}): Route[] {
  return serve(browsingEndpoints, {
    getBlame: async ({ opened, params, query, ...input }) => {
      const file = { path: params.filepath, ref: query.ref };
      const { parts, commits } = await browsing.blame(opened, toClient(input), file);
      return {
        commits: [...commits.values()].map(({ id, author, authoredAt, summary }) => ({
          sha: id,
          author: { ...author, date: authoredAt },
          summary,
        })),
        parts: parts.map(({ commitId, firstLine, lineCount, previous }) => ({
          sha: commitId,
          first_line: firstLine,
          lines: lineCount,
          previous: previous === undefined ? null : { sha: previous.commitId, path: previous.path },
        })),
      };
    },
    searchCode: async ({ opened, query, ...input }) => {
      const wanted = { text: query.q, ref: query.ref };
      const { matches, isWhole } = await browsing.search(opened, toClient(input), wanted);
      return {
        matches: matches.map(({ path, lines }) => ({ path, lines: [...lines] })),
        truncated: !isWhole,
      };
    },
    findFiles: async ({ opened, query, ...input }) => {
      const wanted = { text: query.q, ref: query.ref };
      const { files, total, isWhole } = await browsing.findFiles(opened, toClient(input), wanted);
      return answer({ files: [...files], truncated: !isWhole }, { total });
    },
    listContributors: async ({ opened, query, ...input }) => {
      const { contributors, authors, total } = await browsing.contributors(
        opened,
        toClient(input),
        query.ref,
        query,
      );
      const shown = contributors.map((person) => {
        const user = authors.get(person.email.toLowerCase());
        return {
          ...person,
          user: user === undefined ? null : toEmbeddedUserView(user, false, urls),
        };
      });
      return page(shown, total);
    },
    listRefNames: ({ opened, ...input }) => browsing.refNames(opened, toClient(input)),
    listDivergence: async ({ opened, query, ...input }) => {
      const found = await browsing.divergence(opened, toClient(input), query.q, query);
      return page(found.branches, found.total);
    },
  });
}

const toClient = ({
  caller,
  request: { address, signal },
}: {
  readonly caller: ForgeCaller | undefined;
  readonly request: ServerRequest;
}) => ({ caller, address, signal });
