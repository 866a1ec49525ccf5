import { browsingEndpoints } from "../../contract/forge/code/browsing.ts";
import type { Route } from "../../http/handle.ts";
import { answer, page } from "../../http/serve.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Browsing } from "./browsing.service.ts";
import { toCodeRequest } from "./open-code.ts";

/** Routes of blame, of the search of code and file names, of contributors and of diverged branches. */
export function browsingRoutes({
  browsing,
  urls,
}: {
  readonly browsing: Browsing;
  readonly urls: ForgeUrls;
}): Route[] {
  return serve(browsingEndpoints, {
    getBlame: async ({ params, query, ...input }) => {
      const file = { path: params.filepath, ref: query.ref };
      const { parts, commits } = await browsing.blame(toCodeRequest(input), file);
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
    searchCode: async ({ query, ...input }) => {
      const wanted = { text: query.q, ref: query.ref };
      const { matches, isWhole } = await browsing.search(toCodeRequest(input), wanted);
      return {
        matches: matches.map(({ path, lines }) => ({ path, lines: [...lines] })),
        truncated: !isWhole,
      };
    },
    findFiles: async ({ query, ...input }) => {
      const wanted = { text: query.q, ref: query.ref };
      const { files, total, isWhole } = await browsing.findFiles(toCodeRequest(input), wanted);
      return answer({ files: [...files], truncated: !isWhole }, { total });
    },
    listContributors: async ({ query, ...input }) => {
      const { contributors, authors, total } = await browsing.contributors(
        toCodeRequest(input),
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
    listRefNames: (input) => browsing.refNames(toCodeRequest(input)),
    listDivergence: async ({ query, ...input }) => {
      const found = await browsing.divergence(toCodeRequest(input), query.q, query);
      return page(found.branches, found.total);
    },
  });
}
