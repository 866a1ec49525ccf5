import type { Database } from "../../../storage/engine/database.ts";
import type { RepositoryUnit } from "../../../storage/tables/forge/accounts/teams.ts";
import type { RepositorySettings } from "../../../storage/tables/forge/repositories/repositories.ts";
import { listIssueLabels } from "../../../storage/tables/forge/issues/issue-labels.ts";
import {
  type ClosedFilter,
  type ForgeIssue,
  listClosedBetween,
} from "../../../storage/tables/forge/issues/issues.ts";
import {
  findRelease,
  findReleaseBefore,
  type ForgeRelease,
} from "../../../storage/tables/forge/releases/releases.ts";
import { AppError } from "../../errors.ts";
import type { GrantedRepository } from "../opened.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { keepsIssues, keepsPulls } from "../repositories/repository-settings.view.ts";

/** Maximum number of issues and pull requests in the notes of a release. */
const ENTRIES_MAX = 500;
const NO_LABEL = "Other changes";

export type ReleaseNotes = ReturnType<typeof createReleaseNotes>;

export interface ReleaseNotesDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Generates the notes of releases. */
export function createReleaseNotes({ db, clock }: ReleaseNotesDeps) {
  return {
    /**
     * Returns the notes of a release as Markdown: the issues that were closed and the pull requests that were merged between
     * the release before it and its own publication, or now, grouped by their first label. Without a release before it, all
     * of them.
     * @param previousTag a tag with a release; refuses with `unprocessable` another one
     */
    async generate(
      opened: GrantedRepository,
      tagName: string,
      previousTag: string | undefined,
    ): Promise<{ readonly name: string; readonly body: string }> {
      const { id } = opened.repository;
      const own = await findRelease(db, id, { tagName });
      const until = own === undefined || own.isDraft ? clock() : own.publishedAt;
      const previous =
        previousTag === undefined
          ? await findReleaseBefore(db, id, { tagName, before: until })
          : await getPrevious(opened, previousTag);
      const after = previous?.publishedAt ?? 0;
      const filter = {
        after,
        until,
        hasIssues: await reads(opened, "repo.issues", keepsIssues),
        hasPulls: await reads(opened, "repo.pulls", keepsPulls),
      };
      const groups = await groupClosed(opened, filter);
      const since = previous === undefined ? "" : ` since ${toText(previous.tagName)}`;
      const sections = groups.map(([label, entries]) => {
        const heading = groups.length === 1 && label === NO_LABEL ? "" : `### ${toText(label)}\n\n`;
        return `${heading}${entries.map(toLine).join("\n")}\n`;
      });
      const body = [`## What's changed${since}\n`, ...sections].join("\n");
      return { name: tagName, body: sections.length === 0 ? "" : body };
    },
  };

  async function getPrevious(
    { repository }: GrantedRepository,
    tagName: string,
  ): Promise<ForgeRelease> {
    const found = await findRelease(db, repository.id, { tagName });
    if (found === undefined || found.isDraft)
      throw new AppError("unprocessable", `the previous tag has no release [tag_name: ${tagName}]`);
    return found;
  }

  /** A team may write releases without reading issues or pull requests. */
  async function reads(
    opened: GrantedRepository,
    unit: RepositoryUnit,
    keeps: (settings: RepositorySettings) => boolean,
  ): Promise<boolean> {
    if (!keeps(opened.repository.settings)) return false;
    return reaches(await findAccess(db, opened, opened.grant.caller?.user, unit), "read");
  }

  /** Returns what was closed by its first label, the labels by name, what has none last. */
  async function groupClosed(
    { repository }: GrantedRepository,
    filter: ClosedFilter,
  ): Promise<(readonly [label: string, issues: readonly ForgeIssue[]])[]> {
    const issues = await listClosedBetween(db, repository.id, filter, ENTRIES_MAX);
    const groups = new Map<string | undefined, ForgeIssue[]>();
    for (const issue of issues) {
      const [label] = await listIssueLabels(db, issue.id);
      groups.set(label?.name, [...(groups.get(label?.name) ?? []), issue]);
    }
    const labels = [...groups.keys()].filter((name) => name !== undefined).toSorted();
    const rest = groups.get(undefined);
    return [
      ...labels.map((label) => [label, groups.get(label) ?? []] as const),
      ...(rest === undefined ? [] : [[NO_LABEL, rest] as const]),
    ];
  }
}

const toLine = ({ title, number }: ForgeIssue) => `- ${toText(title)} (#${number})`;

/** Escapes the characters of a text that Markdown would read as markup. */
function toText(text: string): string {
  return text.replace(/[\\`*_[\]<>]/g, "\\$&").replace(/\s+/g, " ");
}
