// Wikis of repositories. Start here: one factory wires up the services of this folder. wiki.service.ts reads and changes pages,
// wiki-plans.ts has the rules of changes, wiki-names.ts the names of pages and files, wiki-transfers.ts what git pushes and fetches.
import { createCodeAccess } from "../code/open-code.ts";
import type { ForgeFeature } from "../feature.ts";
import { createStreamLimiter } from "../repositories/transfer-limiter.ts";
import type { ForgeUrls } from "../urls.ts";
import { createWikiEdits, type WikiEditsDeps } from "./wiki-edits.ts";
import { createWikiFolders, type WikiFoldersDeps } from "./wiki-folders.ts";
import { createWikiTransferDeps } from "./wiki-transfers.ts";
import { wikiRoutes } from "./wiki.routes.ts";
import { createWiki, type WikiDeps } from "./wiki.service.ts";

export interface ForgeWikiDeps
  extends
    WikiFoldersDeps,
    Omit<WikiEditsDeps, "folders">,
    Pick<WikiDeps, "toCommitPerson" | "newId"> {
  readonly urls: ForgeUrls;
}

/** As those of code, which is read more. */
const limits = {
  work: { atOnce: 8, perClient: 4, anonymous: 5, waiting: 128, waitingPerClient: 64 },
  open: { atOnce: 32, perClient: 8, anonymous: 24, waiting: 64, waitingPerClient: 32 },
} as const;

/** The wikis of the forge. */
export function createForgeWiki(deps: ForgeWikiDeps) {
  const folders = createWikiFolders(deps);
  const edits = createWikiEdits({ ...deps, folders });
  const { locate } = folders;
  const access = createCodeAccess({ ...deps, locate, limiter: createStreamLimiter(limits) });
  const wiki = createWiki({ ...deps, access, folders, edits });
  return {
    services: {
      /** What clones and pushes of wikis need. */
      transferDeps: createWikiTransferDeps({ ...deps, folders }),
    },
    routes: wikiRoutes({ wiki, urls: deps.urls }),
    jobs: [edits.job],
  } satisfies ForgeFeature;
}
