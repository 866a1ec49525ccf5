import type { Queries } from "../../../storage/engine/database.ts";
import type { CommitWithFiles } from "../../../storage/git/commits.ts";
import { findEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { isVisibleTo } from "../accounts/users.service.ts";
import type { PushedCommits } from "./payloads.view.ts";
import type { PushCommits } from "../push-subscriber.ts";

/**
 * Maximum number of files in all commits of a payload, and characters of a message, because payloads are stored in
 * rows.
 */
const FILES_MAX = 1_000;
const MESSAGE_CHARACTERS_MAX = 16_384;

/**
 * Returns the commits of a push for its payload: truncated to the limits, with the accounts of their authors.
 * @param viewer the user who pushed; accounts that are hidden from this user are left out
 */
export async function toPushedCommits(
  db: Queries,
  found: PushCommits,
  viewer: ForgeUser | undefined,
): Promise<PushedCommits> {
  const commits = withinBounds(found.commits);
  const head = found.head && withinBounds([found.head])[0];
  const usernames = await findUsernames(db, head ? [...commits, head] : commits, viewer);
  return { ...found, commits, head, usernames };
}

/** Anyone can create a commit with any address, so the payload must not reveal that a hidden account has it. */
async function findUsernames(
  db: Queries,
  commits: readonly CommitWithFiles[],
  viewer: ForgeUser | undefined,
): Promise<ReadonlyMap<string, string>> {
  const emails = new Set(
    commits.flatMap(({ author, committer }) =>
      [author, committer].map(({ email }) => email.toLowerCase()),
    ),
  );
  const names = new Map<string, string>();
  for (const email of emails) {
    const known = await findEmail(db, email);
    const user = known?.isVerified ? await findUserById(db, known.userId) : undefined;
    if (user !== undefined && isVisibleTo(user, viewer)) names.set(email, user.name);
  }
  return names;
}

function withinBounds(commits: readonly CommitWithFiles[]): CommitWithFiles[] {
  let room = FILES_MAX;
  const take = (paths: readonly string[]) => {
    const taken = paths.slice(0, room);
    room -= taken.length;
    return taken;
  };
  return commits.map((commit) => ({
    ...commit,
    message: commit.message.slice(0, MESSAGE_CHARACTERS_MAX),
    added: take(commit.added),
    removed: take(commit.removed),
    modified: take(commit.modified),
  }));
}
