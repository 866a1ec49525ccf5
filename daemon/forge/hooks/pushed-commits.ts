import type { Queries } from "../../../storage/engine/database.ts";
import type { CommitWithFiles } from "../../../storage/git/commits.ts";
import type { CommitSignature } from "../../../storage/git/signatures.ts";
import { findEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { isVisibleTo } from "../accounts/users.service.ts";
import type { PushedCommits } from "./payloads.view.ts";
import type { PushCommits } from "../push-subscriber.ts";

/**
 * Maximum number of files in all commits of a payload, and characters of their paths, because each hook has a row with the
 * payload of each ref of a push.
 */
const FILES_MAX = 1_000;
const PATHS_CHARACTERS_MAX = 64 * 1024;
/** Maximum characters of a message, of all messages, and of each of those for which they leave no room. */
const MESSAGE_CHARACTERS_MAX = 16_384;
const MESSAGES_CHARACTERS_MAX = 64 * 1024;
const SHORT_MESSAGE_CHARACTERS = 1_000;
/** Maximum characters of a name or an address. */
const PERSON_CHARACTERS_MAX = 255;

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
  let files = FILES_MAX;
  let characters = PATHS_CHARACTERS_MAX;
  let messages = MESSAGES_CHARACTERS_MAX;
  const cutMessage = (message: string) => {
    const room = Math.max(messages, SHORT_MESSAGE_CHARACTERS);
    const kept = cut(message, Math.min(MESSAGE_CHARACTERS_MAX, room));
    messages -= kept.length;
    return kept;
  };
  const take = (paths: readonly string[]) => {
    const taken: string[] = [];
    for (const path of paths) {
      files -= 1;
      characters -= path.length;
      // The first path without room ends the list of all commits.
      if (files < 0 || characters < 0) {
        files = 0;
        break;
      }
      taken.push(path);
    }
    return taken;
  };
  return commits.map((commit) => ({
    ...commit,
    author: cutPerson(commit.author),
    committer: cutPerson(commit.committer),
    message: cutMessage(commit.message),
    added: take(commit.added),
    removed: take(commit.removed),
    modified: take(commit.modified),
  }));
}

const cutPerson = (person: CommitSignature): CommitSignature => ({
  ...person,
  name: cut(person.name, PERSON_CHARACTERS_MAX),
  email: cut(person.email, PERSON_CHARACTERS_MAX),
});

const cut = (text: string, charactersMax: number) =>
  text.length > charactersMax ? text.slice(0, charactersMax).toWellFormed() : text;
