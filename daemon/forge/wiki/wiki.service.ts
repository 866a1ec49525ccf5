import { setTimeout as sleep } from "node:timers/promises";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { Log } from "../../utilities/logging.ts";
import { createCommitGraphReader } from "../../../storage/git/commit-graph.ts";
import { findFault } from "../../../storage/git/check-commit.ts";
import { type CommitObject, readCommitsIn } from "../../../storage/git/commit-objects.ts";
import { allEnded } from "../../../storage/git/git.ts";
import { countHistory, listHistory } from "../../../storage/git/history.ts";
import { findLastCommitId, readLastCommits } from "../../../storage/git/last-commits.ts";
import { openQuarantine } from "../../../storage/git/object-quarantine.ts";
import { withObjectSession } from "../../../storage/git/object-session.ts";
import { writeCommit } from "../../../storage/git/write-commit.ts";
import { createLocks } from "../../../storage/locks.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { BLOB_BYTES_MAX } from "../../contract/forge/code/objects.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { CodeAccess, CodeClient, OpenedCode } from "../code/open-code.ts";
import { type RawFile, toRawFile } from "../code/raw-files.service.ts";
import type { GrantedRepository } from "../opened.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import type { WikiEdits } from "./wiki-edits.ts";
import {
  findFile,
  findPages,
  findTip,
  FOOTER,
  getCommit,
  getPage,
  getTip,
  listPages,
  noPage,
  readContent,
  SIDEBAR,
  toOwnName,
} from "./wiki-entries.ts";
import type { WikiFolders } from "./wiki-folders.ts";
import { addressToName, findCandidates, nameToTitle } from "./wiki-names.ts";
import {
  type NewPage,
  type PageEdit,
  planCreation,
  type PlanChange,
  planEdit,
  planIfMatch,
  planRemoval,
  type WikiPlan,
} from "./wiki-plans.ts";

/** The request that git works for. */
export type WikiRequest = CodeClient;
export type WikiWriter = WikiRequest & {
  readonly caller: ForgeCaller;
  /** The header: the newest commit of the page that is changed, in quotation marks. */
  readonly ifMatch?: string | undefined;
};

/** A page in lists. */
export interface WikiPageSummary {
  /** Its name in addresses. */
  readonly name: string;
  readonly title: string;
  readonly last: CommitObject;
}

/** A page with those beside it. A content is undefined for a file that is missing or too large to be shown. */
export interface WikiPage extends WikiPageSummary {
  readonly content: Buffer | undefined;
  readonly sidebar: Buffer | undefined;
  readonly footer: Buffer | undefined;
  /** Number of commits that changed the file. */
  readonly revisions: number;
}

export interface WikiDeps {
  readonly access: Pick<CodeAccess, "within" | "streamWithin">;
  readonly folders: WikiFolders;
  readonly edits: Pick<WikiEdits, "make">;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly log: Log;
  /** Returns the name and address that the commits of a user have. */
  readonly toCommitPerson: (user: ForgeUser) => { readonly name: string; readonly email: string };
}

/** Maximum number of attempts: a push may move the branch after it was read. */
const ATTEMPTS_MAX = 5;
/** Wait before the second attempt, doubled for each later one: another daemon may be writing, and its lock binds only itself. */
const FIRST_WAIT_MS = 50;

export type Wiki = ReturnType<typeof createWiki>;

/**
 * The pages of wikis. Every function refuses with `not_found` a wiki without commits and a missing page, with `unavailable`
 * when too many git processes run.
 */
export function createWiki({
  access,
  folders,
  edits,
  clock,
  newId,
  log,
  toCommitPerson,
}: WikiDeps) {
  const graphs = createCommitGraphReader();
  const { withLocks } = createLocks();
  return {
    async list(
      opened: GrantedRepository,
      request: WikiRequest,
      window: PageWindow,
    ): Promise<{ readonly pages: readonly WikiPageSummary[]; readonly total: number }> {
      return access.within(opened, request, async (code) => {
        const tip = await getTip(code);
        const all = await listPages(code, tip);
        const { limit, offset } = toRows(window);
        const shown = all.slice(offset, offset + limit);
        const commits = await findLastCommits(code, tip, shown);
        const pages = shown.flatMap(({ name, path }) => {
          const last = commits.get(path);
          return last === undefined ? [] : [{ name, title: nameToTitle(name), last }];
        });
        return { pages, total: all.length };
      });
    },

    get: (opened: GrantedRepository, request: WikiRequest, name: string): Promise<WikiPage> =>
      access.within(opened, request, (code) => readPage(code, name)),

    /** Returns the commits that changed a page, the newest first. */
    async revisions(
      opened: GrantedRepository,
      request: WikiRequest,
      name: string,
      window: PageWindow,
    ): Promise<{ readonly commits: readonly CommitObject[]; readonly total: number }> {
      return access.within(opened, request, async (code) => {
        const { git, directory, signal } = code;
        const tip = await getTip(code);
        const { path } = await getPage(code, tip, name);
        const query = { directory, signal, tip, path };
        const [ids, total] = await allEnded([
          listHistory(git, query, toRows(window)),
          countHistory(git, query),
        ]);
        const commits = await readCommits(code, ids);
        return { commits, total };
      });
    },

    /**
     * Opens a file of a wiki by its path, or a page by its name.
     * @param ref the id of a commit; the newest one when it is empty
     */
    async openFile(
      opened: GrantedRepository,
      request: WikiRequest,
      path: string,
      ref = "",
    ): Promise<RawFile> {
      const code = await access.streamWithin(opened, request);
      try {
        const tip = ref === "" ? await getTip(code) : await getCommit(code, ref);
        const page = path.replace(/\.md$/, "");
        // The path is decoded: a `+` in it was a blank or itself.
        const names = [encodeURIComponent(page.toWellFormed()), addressToName(page)];
        const entry = await findFile(code, tip, [path, ...names.flatMap(findCandidates)]);
        if (entry === undefined) throw noPage();
        return await toRawFile(code, entry);
      } catch (error) {
        code.slot.release();
        code.signal.throwIfAborted();
        throw error;
      }
    },

    /**
     * Creates a page, and with the first one the wiki. Refuses as `planCreation` does; with `unprocessable` a title that
     * makes no name of a file, with `too_large` a content that could not be shown.
     */
    async create(opened: GrantedRepository, request: WikiWriter, page: NewPage): Promise<WikiPage> {
      return changeAndRead(opened, request, page.content, planCreation(page));
    },

    /** Changes the content of a page, its title, or both. Refuses as `planEdit`, `planIfMatch` and `create` do. */
    async edit(
      opened: GrantedRepository,
      request: WikiWriter,
      name: string,
      edit: PageEdit,
    ): Promise<WikiPage> {
      const plan = planIfMatch(name, request.ifMatch, planEdit(name, edit));
      return changeAndRead(opened, request, edit.content, plan);
    },

    /** Refuses as `planRemoval` and `planIfMatch` do. */
    async remove(opened: GrantedRepository, request: WikiWriter, name: string): Promise<void> {
      await change(opened, request, planIfMatch(name, request.ifMatch, planRemoval(name)));
    },
  };

  async function readPage(code: OpenedCode, name: string): Promise<WikiPage> {
    const { git, directory, signal } = code;
    const tip = await getTip(code);
    const entries = await findPages(code, tip, [name, SIDEBAR, FOOTER]);
    const entry = entries.get(name);
    if (entry === undefined) throw noPage();
    const query = { directory, signal, tip, path: entry.path };
    const [[lastId], revisions] = await allEnded([
      listHistory(git, query, { limit: 1, offset: 0 }),
      countHistory(git, query),
    ]);
    return withObjectSession(git, { directory, signal }, async (objects) => {
      const [last] = await readCommitsIn(objects, lastId === undefined ? [] : [lastId]);
      if (last === undefined) throw noPage();
      const read = (of: string) => readContent(objects, entries.get(of), BLOB_BYTES_MAX);
      const content = await read(name);
      const sidebar = await read(SIDEBAR);
      const footer = await read(FOOTER);
      const own = toOwnName(entry, name);
      return { name: own, title: nameToTitle(own), last, content, sidebar, footer, revisions };
    });
  }

  /** Returns the newest commits of files by their paths. */
  async function findLastCommits(
    code: OpenedCode,
    tip: string,
    files: readonly { readonly path: string }[],
  ): Promise<ReadonlyMap<string, CommitObject>> {
    const { git, directory, signal } = code;
    const options = { directory, signal };
    const names = files.map(({ path }) => path);
    const ids = await withObjectSession(git, options, async (objects) => {
      const query = { ...options, tip, folder: "", names };
      const { commits } = await readLastCommits({ git, objects, graphs }, query);
      return new Map([...commits].map(([path, { id }]) => [path, id]));
    });
    // The search of a long history has a limit; the page of a list has few files.
    for (const path of names) {
      if (ids.has(path)) continue;
      const id = await findLastCommitId(git, { ...options, tip, path });
      if (id !== undefined) ids.set(path, id);
    }
    const commits = await readCommits(code, [...new Set(ids.values())]);
    const byId = new Map(commits.map((commit) => [commit.id, commit]));
    return new Map(
      [...ids].flatMap(([path, id]) => {
        const commit = byId.get(id);
        return commit === undefined ? [] : [[path, commit]];
      }),
    );
  }

  async function changeAndRead(
    opened: GrantedRepository,
    request: WikiWriter,
    content: Buffer | undefined,
    plan: PlanChange,
  ): Promise<WikiPage> {
    if (content !== undefined && content.byteLength > BLOB_BYTES_MAX)
      throw new AppError("too_large", `a page has at most ${BLOB_BYTES_MAX} bytes`);
    const { page } = await change(opened, request, plan);
    return access.within(opened, request, (code) => readPage(code, page));
  }

  async function change(
    opened: GrantedRepository,
    request: WikiWriter,
    plan: PlanChange,
  ): Promise<WikiPlan> {
    await folders.ensure(opened.repository);
    const made = await access.within(opened, request, (code) =>
      withLocks([String(opened.repository.id)], async () => {
        for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
          const done = await tryChange(opened, request.caller.user, code, plan);
          if (done !== undefined) return done;
          if (attempt < ATTEMPTS_MAX) await sleep(FIRST_WAIT_MS * 2 ** (attempt - 1));
        }
        throw new AppError("conflict", "the wiki was changed in the meantime, try again");
      }),
    );
    await followEdit(opened.repository);
    return made;
  }

  /** The page is saved: what only the next change of the wiki would repair does not make its answer a failure. */
  async function followEdit(repository: ForgeRepository): Promise<void> {
    try {
      await folders.follow(repository);
    } catch (error) {
      log.error(
        { err: error, repository_id: repository.id },
        "failed to follow the branch of a wiki",
      );
    }
  }

  /** Returns undefined when the branch was moved in between. */
  async function tryChange(
    opened: GrantedRepository,
    actor: ForgeUser,
    code: OpenedCode,
    plan: PlanChange,
  ): Promise<WikiPlan | undefined> {
    const { git, directory } = code;
    const { ref, commitId: before } = await findTip(code);
    const planned = await plan(code, before);
    const { action, page, comment, message, changes } = planned;
    const key = newId();
    const person = { ...toCommitPerson(actor), seconds: Math.floor(clock() / 1000), zone: "+0000" };
    await using quarantine = await openQuarantine(directory, key);
    const commitId = await writeCommit(git, directory, {
      parent: before,
      author: person,
      committer: person,
      message: `${message}\n`,
      changes,
      key,
      quarantine,
    });
    const paths = changes.filter(({ kind }) => kind === "write").map(({ path }) => path);
    const checked = { commit: commitId, from: before, paths, key, quarantine };
    const fault = await findFault(git, directory, checked);
    if (fault !== undefined) throw new AppError("unprocessable", `git refuses the page: ${fault}`);
    const edit = { action, page, comment, ref, before, commitId, quarantine };
    return (await edits.make(opened, actor, directory, edit)) ? planned : undefined;
  }
}

function readCommits({ git, directory, signal }: OpenedCode, ids: readonly string[]) {
  return withObjectSession(git, { directory, signal }, (objects) => readCommitsIn(objects, ids));
}
