// daemon/forge/code: branches, tags, commits, trees and files of repositories. Start here: one factory wires up the
// services. open-code.ts limits the number of git processes; revisions.ts resolves names. A
// write goes through ../git/write-refs.ts and has the effects of a push.
import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { Compute } from "../compute.ts";
import type { ForgeFeature } from "../feature.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import { createStreamLimiter } from "../repositories/transfer-limiter.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import type { LargeFiles } from "../large-files/large-files.service.ts";
import type { Repositories } from "../repositories/repositories.service.ts";
import type { ForgeUrls } from "../urls.ts";
import { createBranches } from "./branches.service.ts";
import { browsingRoutes } from "./browsing.routes.ts";
import { createBrowsing } from "./browsing.service.ts";
import { createFileChanges } from "./change-files.service.ts";
import { commitRoutes } from "./commits.routes.ts";
import { createCommits } from "./commits.service.ts";
import { contentsRoutes } from "./contents.routes.ts";
import { createContents } from "./contents.service.ts";
import { createFileLanguages } from "./file-languages.ts";
import type { FolderListings } from "./folder-listings.ts";
import { createIssueTemplates } from "./issue-templates/issue-templates.service.ts";
import { createGitObjects } from "./objects.service.ts";
import { createCodeAccess } from "./open-code.ts";
import { createRawFiles } from "./raw-files.service.ts";
import { refRoutes } from "./refs.routes.ts";
import { createRunInFolder } from "../git/run-in-folder.ts";
import { createForkSync } from "./fork-sync.service.ts";
import { createTakeUpstream } from "../git/take-upstream.ts";
import { severalFilesRoutes } from "./several-files.routes.ts";
import { createSeveralFiles } from "./several-files.service.ts";
import { createTags } from "./tags.service.ts";

export interface CodeServicesDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly repositories: Repositories;
  readonly writeRefs: WriteRefs;
  readonly urls: ForgeUrls;
  readonly compute: Compute;
  readonly listings: FolderListings;
  readonly findLargeFile: LargeFiles["find"];
}

const limits = {
  /** Requests whose git works at the same time, and the length of the queue. */
  work: { atOnce: 16, perClient: 8, anonymous: 10, waiting: 256, waitingPerClient: 128 },
  /** Open downloads of files, archives, diffs and patches, most of which wait for their clients. */
  open: { atOnce: 64, perClient: 8, anonymous: 48, waiting: 128, waitingPerClient: 64 },
} as const;

/** The code of repositories. */
export function createCode(deps: CodeServicesDeps) {
  const { db, clock, newId, git, locate, repositories, writeRefs, urls, compute, listings } = deps;
  const limiter = createStreamLimiter(limits);
  const access = createCodeAccess({ db, git, locate, limiter });
  const branches = createBranches({
    db,
    access,
    compute,
    writeRefs,
    setDefaultBranch: repositories.setDefaultBranch,
  });
  const toCommitPerson = (user: ForgeUser) => toPerson(user, urls);
  const tags = createTags({ db, access, writeRefs, clock, newId, toCommitPerson });
  const takeUpstream = createTakeUpstream({
    db,
    git,
    clock,
    newUuid: newId,
    runInFolder: createRunInFolder({ db, locate }),
    writeRefs,
    toCommitPerson,
  });
  const syncFork = createForkSync({ db, git, takeUpstream });
  const contents = createContents({ access, listings });
  const severalFiles = createSeveralFiles({ access, compute, contents });
  const issueTemplates = createIssueTemplates({ access });
  const commits = createCommits({ db, access });
  const objects = createGitObjects({ access });
  const routes = [
    ...contentsRoutes({
      contents,
      files: createRawFiles({ access, contents, findLargeFile: deps.findLargeFile }),
      fileChanges: createFileChanges({ access, writeRefs, clock, newId, toCommitPerson }),
      urls,
    }),
    ...refRoutes({ branches, tags, syncFork, urls }),
    ...commitRoutes({ commits, objects, urls }),
    ...browsingRoutes({ browsing: createBrowsing({ db, access, compute }), urls }),
    ...severalFilesRoutes({ severalFiles, commits, objects, issueTemplates, urls }),
  ];
  return {
    services: {
      access,
      commits,
      tags,
      toCommitPerson,
      takeUpstream,
      findFileLanguage: createFileLanguages({ db, access }),
    },
    routes,
    /** Terminates the thread that parses issue templates. */
    close: issueTemplates.close,
  } satisfies ForgeFeature;
}

/**
 * Returns the name and address that the commits of a user have, without the characters that delimit fields in git's
 * format.
 */
export function toPerson(user: ForgeUser, urls: ForgeUrls) {
  // oxlint-disable-next-line no-control-regex -- removes control characters
  const clean = (text: string) => text.replace(/[<>\u0000-\u001f\u007f]/g, "").trim();
  const name = clean(user.fullName);
  return {
    name: name === "" ? user.name : name,
    email: clean(toEmbeddedUserView(user, true, urls).email),
  };
}
