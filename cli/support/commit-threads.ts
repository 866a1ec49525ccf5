import type { WireThread } from "../../daemon/contract/forge/notifications.ts";
import { forge } from "../client/operations.ts";
import { forgeFieldPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { type Page, type PageSource, readAll } from "../output/pages.ts";
import type { RepositoryName } from "./repository.ts";

/** Commits that are read at the same time. */
const AT_ONCE = 4;
const SHORT_ID = 10;

/**
 * Names the commits in the titles of threads: the short id, the first line of the message, and the checks that failed or
 * passed, such as `1a2b3c4d5e Fix the gate: build failed`. The API has the id only. A commit that the caller cannot
 * read keeps its id.
 */
export async function nameCommits(
  cli: CliContext,
  threads: readonly WireThread[],
): Promise<readonly WireThread[]> {
  const named: WireThread[] = [];
  for (let start = 0; start < threads.length; start += AT_ONCE)
    named.push(
      ...(await Promise.all(
        threads.slice(start, start + AT_ONCE).map((thread) => nameCommit(cli, thread)),
      )),
    );
  return named;
}

/** Names the commits of each page of a list of threads. */
export function namingCommits(
  cli: CliContext,
  pages: PageSource<WireThread>,
): PageSource<WireThread> {
  const name = async (page: Page<WireThread>) => ({
    ...page,
    items: await nameCommits(cli, page.items),
  });
  return {
    first: async (options) => name(await pages.first(options)),
    next: async (page) => name(await pages.next(page)),
  };
}

export async function nameCommit(cli: CliContext, thread: WireThread): Promise<WireThread> {
  const place = findCommit(thread);
  if (place === undefined || thread.subject === null) return thread;
  try {
    const { message, checks } = await readCommit(cli, place);
    const [line = ""] = message.split("\n", 1);
    const title = `${place.sha.slice(0, SHORT_ID)} ${line}${toOutcome(checks)}`;
    return { ...thread, subject: { ...thread.subject, title } };
  } catch (error) {
    if (isHidden(error)) return thread;
    throw error;
  }
}

/** The place of a thread's commit; undefined for other threads. */
export function findCommit({ subject, repository }: WireThread) {
  const sha = /\/commit\/([0-9a-f]{40,64})$/.exec(subject?.html_url ?? "")?.[1];
  if (sha === undefined || repository === null || subject?.type !== "Commit") return undefined;
  const [owner = "", repo = ""] = repository.full_name.split("/");
  return { owner, repo, sha };
}

/** A check of a commit with its latest state. */
export interface CommitCheck {
  readonly context: string;
  readonly status: string;
  readonly description: string;
}

/** Reads the latest status of each check of a commit. */
export function readStatuses(
  cli: CliContext,
  { owner, repo, ref }: RepositoryName & { readonly ref: string },
) {
  const params = { owner, repo, ref };
  return readAll(forgeFieldPages(cli.client, forge.getCombinedStatus, { params }, "statuses"));
}

/** Reads a commit with the latest state of each of its checks. */
export async function readCommit(
  cli: CliContext,
  { owner, repo, sha }: { readonly owner: string; readonly repo: string; readonly sha: string },
) {
  const [{ body: commit }, checks] = await Promise.all([
    cli.client.call(forge.getCommit, { params: { owner, repo, sha } }),
    readStatuses(cli, { owner, repo, ref: sha }),
  ]);
  return { author: commit.commit.author.name, message: commit.commit.message, checks };
}

const outcomes: Readonly<Record<string, string>> = {
  failure: "failed",
  error: "failed",
  success: "succeeded",
};

/** `: build failed`; the failed checks, or else the succeeded ones. Empty while none has ended. */
function toOutcome(checks: readonly CommitCheck[]): string {
  for (const outcome of ["failed", "succeeded"]) {
    const names = checks.filter(({ status }) => outcomes[status] === outcome);
    if (names.length > 0) return `: ${names.map(({ context }) => context).join(", ")} ${outcome}`;
  }
  return "";
}

/** Whether the caller may not read something, or it is gone. */
function isHidden(error: unknown): boolean {
  return error instanceof CliError && (error.code === "not_found" || error.code === "forbidden");
}
