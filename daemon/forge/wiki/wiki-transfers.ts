import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { PushId } from "../../../storage/tables/forge/ids.ts";
import type { Log } from "../../utilities/logging.ts";
import { createRefCheck } from "../git/ref-check.ts";
import { createRunInFolder } from "../git/run-in-folder.ts";
import type { SmartHttp, SmartHttpDeps } from "../git/smart-http.service.ts";
import { createTransferAccess, WIKI } from "../git/transfer-access.ts";
import type { WikiFolders } from "./wiki-folders.ts";

/** What git's protocol needs for wikis beside what it needs for all repositories. */
export type WikiTransferDeps = Pick<
  SmartHttpDeps,
  | "access"
  | "ending"
  | "locate"
  | "journal"
  | "recordPush"
  | "observeRefs"
  | "checkPush"
  | "checkRefs"
  | "describePush"
  | "reviewPushes"
>;

const NO_REVIEWS = "a wiki has no pull requests";

/**
 * Wikis over git: who may write to the wiki pushes to it, and the first push creates it. As in Gitea, a push to a wiki is no
 * event, so the journal has no entry for it, and no branch is protected.
 */
export function createWikiTransferDeps({
  db,
  git,
  folders,
  log,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly folders: WikiFolders;
  readonly log: Log;
}): WikiTransferDeps {
  const access = createTransferAccess(db, WIKI);
  const { locate } = folders;
  const checkPush: SmartHttpDeps["checkPush"] = async () => ({
    refused: undefined,
    forwardOnly: [],
  });
  return {
    access: {
      ...access,
      async open(request, level, toAddress) {
        const opened = await access.open(request, level, toAddress);
        if (level !== "read") await folders.ensure(opened.repository);
        return opened;
      },
    },
    ending: ".wiki.git",
    locate,
    checkPush,
    checkRefs: createRefCheck({ git, runInFolder: createRunInFolder({ db, locate }), checkPush }),
    journal: { begin: async () => ({ id: 0 as PushId, end: () => undefined }) },
    observeRefs: async () => undefined,
    async recordPush({ repository }) {
      // The next change of the wiki counts again; the push itself has been made.
      await folders.follow(repository).catch((error: unknown) => {
        log.warn({ err: error, repository_id: repository.id }, "failed to count a wiki");
      });
    },
    describePush: () => undefined,
    reviewPushes: {
      findRefusal: async () => NO_REVIEWS,
      receive: () => Promise.reject(new Error(NO_REVIEWS)),
    },
  };
}

/** Returns transfers of the code or of the wiki of a repository, by the name that a client asks for. */
export function toTransfersByName(ofCode: SmartHttp, ofWikis: SmartHttp): SmartHttp {
  const of = ({ name }: { readonly name: string }) => (WIKI.ending.test(name) ? ofWikis : ofCode);
  return {
    advertise: (request, service) => of(request).advertise(request, service),
    fetch: (transfer) => of(transfer).fetch(transfer),
    serveFetch: (transfer) => of(transfer).serveFetch(transfer),
    serveArchive: (transfer) => of(transfer).serveArchive(transfer),
    push: (transfer) => of(transfer).push(transfer),
  };
}
