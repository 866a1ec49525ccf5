import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { CommitPerson } from "../../../storage/git/initial-commit.ts";
import { findObjects, readBeginnings } from "../../../storage/git/objects.ts";
import type { DatedPerson } from "../../../storage/git/write-commit.ts";
import type { MergeStyle } from "../../../storage/tables/forge/pulls/merges.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  findUserById,
  type ForgeUser,
  listUsersByIds,
} from "../../../storage/tables/forge/accounts/users.ts";
import { keepsIssues } from "../repositories/repository-settings.view.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";
import { findClosedIssues } from "./closing-words.ts";
import { type MergedPull, toMergeMessage, toTemplatePath, withCoAuthor } from "./merge-message.ts";
import type { MergeView } from "./merge-view.ts";

/** The message and the people of the commits of a merge. */
export interface MergeTexts {
  readonly message: string;
  readonly author: DatedPerson;
  readonly merger: DatedPerson;
}

/** Reads the template of the style and makes the texts of a merge. */
export type ReadMergeTexts = (
  directory: string,
  view: MergeView,
  merger: ForgeUser,
  request: { readonly style: MergeStyle; readonly title: string; readonly text: string },
) => Promise<MergeTexts>;

/** Bytes of a template; a larger one is not used. */
const TEMPLATE_BYTES_MAX = 64 * 1024;

export function createMergeTexts({
  db,
  git,
  clock,
  urls,
  toCommitPerson,
}: {
  readonly db: Database;
  readonly git: Git;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly urls: ForgeUrls;
  readonly toCommitPerson: (user: ForgeUser) => CommitPerson;
}): ReadMergeTexts {
  return async (directory, view, user, { style, title, text }) => {
    const template = await readTemplate(directory, view, style);
    const seconds = Math.floor(clock() / 1000);
    const toDated = (person: CommitPerson) => ({ ...person, seconds, zone: "+0000" });
    const { authorId } = view.issue;
    const poster = authorId === undefined ? undefined : await findUserById(db, authorId);
    const merger = toCommitPerson(user);
    const author = poster === undefined ? merger : toCommitPerson(poster);
    const pull = await load(view, user, poster, template !== undefined);
    const message = toMergeMessage(pull, style, { title, text, template });
    return {
      message: style === "squash" ? withCoAuthor(message, author, merger) : message,
      author: toDated(author),
      merger: toDated(merger),
    };
  };

  async function readTemplate(
    directory: string,
    { place }: MergeView,
    style: MergeStyle,
  ): Promise<string | undefined> {
    const name = `refs/heads/${place.repository.defaultBranch}:${toTemplatePath(style)}`;
    const [found] = await findObjects(git, [name], { directory });
    if (found?.type !== "blob" || found.size > TEMPLATE_BYTES_MAX) return undefined;
    const [blob] = await readBeginnings(git, [found.id], { directory });
    return blob?.bytes.toString("utf8");
  }

  async function load(
    { place, issue, pull, reviews }: MergeView,
    merger: ForgeUser,
    poster: ForgeUser | undefined,
    hasTemplate: boolean,
  ): Promise<MergedPull> {
    const { repository, owner } = place;
    const { headRepositoryId: headId } = pull;
    const head = headId === undefined ? undefined : await findRepositoryById(db, headId);
    const headOwner = head && (await findUserById(db, head.ownerId));
    const path = `/${owner.name}/${repository.name}/pulls/${issue.number}`;
    const ids = reviews.approvals.map(({ reviewerId }) => reviewerId);
    const approvers = hasTemplate ? await listUsersByIds(db, ids) : [];
    const closed = hasTemplate
      ? await findClosedIssues(db, { place, issue, merger, publicUrl: urls.publicUrl() })
      : [];
    return {
      number: issue.number,
      title: issue.title,
      description: issue.body,
      posterName: poster?.name,
      url: toUrl(urls, path),
      base: { owner: owner.name, repo: repository.name, branch: pull.baseBranch },
      head: { owner: headOwner?.name, repo: head?.name, branch: pull.headBranch },
      isFromFork: headId !== repository.id,
      mark:
        keepsIssues(repository.settings) || repository.settings["has_issues"] === false ? "#" : "!",
      approvers: approvers.map(toCommitPerson),
      closes: closed
        .filter(
          ({ target, action }) => target.repository.id === repository.id && action === "close",
        )
        .map(({ issue: { number } }) => number),
    };
  }
}
