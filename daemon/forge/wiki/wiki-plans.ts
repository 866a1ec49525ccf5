import { listHistory } from "../../../storage/git/history.ts";
import type { TreeChange } from "../../../storage/git/write-commit.ts";
import type { WikiEdit } from "../../../storage/tables/forge/repositories/wiki-edits.ts";
import { AppError } from "../../errors.ts";
import type { OpenedCode } from "../code/open-code.ts";
import { cleanNewPath } from "../repositories/paths.ts";
import { findPages, getPage, isTaken, noPage, toOwnName } from "./wiki-entries.ts";
import { findReserved, nameToPath, nameToTitle, titleToName } from "./wiki-names.ts";

/** The commit that changes a page, and what its event says. */
export interface WikiPlan extends Pick<WikiEdit, "action" | "page" | "comment"> {
  readonly message: string;
  readonly changes: readonly TreeChange[];
}

/** Decides on a change by the newest commit of the wiki, which is undefined before the first one. */
export type PlanChange = (code: OpenedCode, tip: string | undefined) => Promise<WikiPlan>;

export interface NewPage {
  readonly title: string;
  readonly content: Buffer;
  /** Empty for the default. */
  readonly message: string;
}

/** What is undefined stays as it is. */
export interface PageEdit {
  readonly title: string | undefined;
  readonly content: Buffer | undefined;
  /** Empty for the default. */
  readonly message: string;
}

const invalid = (message: string) => new AppError("invalid_argument", message);

/** Refuses with `invalid_argument` a title that is empty, reserved, or has a page. */
export const planCreation =
  ({ title, content, message: given }: NewPage): PlanChange =>
  async (code, tip) => {
    if (title.trim() === "") throw invalid("the title of a page must not be empty");
    const page = titleToName(title);
    const path = toNewPath(page);
    const isKnown = tip !== undefined && (await findPages(code, tip, [page])).has(page);
    if (isKnown || (await isTaken(code, tip, path))) throw alreadyExists(path);
    const message = given || `Add ${JSON.stringify(title)}`;
    const write = { kind: "write", path, isExecutable: false, content } as const;
    return { action: "created", page, comment: message, message, changes: [write] };
  };

/** Refuses with `not_found` a missing page, and a new title as `planCreation` does. */
export const planEdit =
  (name: string, { title = "", content, message: given }: PageEdit): PlanChange =>
  async (code, tip) => {
    if (tip === undefined) throw noPage();
    const entry = await getPage(code, tip, name);
    const current = toOwnName(entry, name);
    const isRenamed = title.trim() !== "" && title.trim() !== nameToTitle(current);
    const page = isRenamed ? titleToName(title) : current;
    const path = isRenamed ? toNewPath(page) : entry.path;
    const isMoved = path !== entry.path;
    if (isMoved && (await isTaken(code, tip, path))) throw alreadyExists(path);
    const message = given || `Update ${JSON.stringify(page)}`;
    const changes = [
      ...(isMoved ? [{ kind: "delete", path: entry.path } as const] : []),
      {
        kind: "write",
        path,
        isExecutable: false,
        content: content ?? { blobId: entry.id },
      } as const,
    ];
    return { action: "edited", page, comment: message, message, changes };
  };

/** Refuses with `not_found` a missing page. */
export const planRemoval =
  (name: string): PlanChange =>
  async (code, tip) => {
    if (tip === undefined) throw noPage();
    const entry = await getPage(code, tip, name);
    const page = toOwnName(entry, name);
    const { path } = entry;
    const message = `Delete page ${JSON.stringify(page)}`;
    return { action: "deleted", page, comment: "", message, changes: [{ kind: "delete", path }] };
  };

/**
 * Refuses with `precondition_failed` the change of a page whose newest commit is none of those that the header `If-Match` has;
 * with `not_found` a missing page.
 */
export const planIfMatch = (
  name: string,
  ifMatch: string | undefined,
  plan: PlanChange,
): PlanChange =>
  ifMatch === undefined || ifMatch.trim() === "*"
    ? plan
    : async (code, tip) => {
        if (tip === undefined) throw noPage();
        const { git, directory, signal } = code;
        const { path } = await getPage(code, tip, name);
        const query = { directory, signal, tip, path };
        const [last] = await listHistory(git, query, { limit: 1, offset: 0 });
        if (!ifMatch.split(",").some((tag) => tag.trim() === `"${last}"`))
          throw new AppError("precondition_failed", "the page has changed");
        return plan(code, tip);
      };

/** Returns the file of a new page. Refuses a name that no file may have, or that is a word of the wiki's addresses. */
function toNewPath(name: string): string {
  const reserved = findReserved(name);
  if (reserved !== undefined) throw invalid(`wiki title is reserved: ${reserved}`);
  return cleanNewPath(nameToPath(name));
}

const alreadyExists = (path: string) => invalid(`wiki page already exists [title: ${path}]`);
