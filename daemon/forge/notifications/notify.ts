import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import type { UnitOrAny } from "../../../storage/tables/forge/accounts/team-access.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { type NewThread, upsertThread } from "../../../storage/tables/forge/notifications.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { findPasswordReset } from "../../../storage/tables/forge/accounts/password-resets.ts";
import { isTeamMember } from "../../../storage/tables/forge/accounts/teams.ts";
import type { RepositoryId, TeamId, UserId } from "../../../storage/tables/forge/ids.ts";
import { findMentions } from "../../rendering/html/references.ts";
import { isResetOf } from "../accounts/password-reset.service.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import type { OwnedRepository } from "../events.ts";

/** The subject of a notification and when it happened. */
export type Notification = Omit<NewThread, "userId" | "repositoryId">;

/** Maximum number of users that one text may mention. */
const MENTIONS_MAX = 50;
/** Maximum number of users notified in one transaction, so that other writers are not blocked for long. */
const BATCH = 100;

/** Returns the part of the repository that a user must be able to read to be notified. */
export function toSubjectUnit(kind: NewThread["kind"]): UnitOrAny {
  const units = {
    issue: "repo.issues",
    pull: "repo.pulls",
    commit: "repo.code",
    repository: "any",
  } as const;
  return units[kind];
}

/** Returns the users who exist, may sign in and may now read this part of the repository. */
export async function listReaders(
  tx: Queries,
  userIds: readonly UserId[],
  { owned, kind }: { readonly owned: OwnedRepository; readonly kind: NewThread["kind"] },
): Promise<ForgeUser[]> {
  const readers: ForgeUser[] = [];
  for (const userId of userIds) {
    const user = await findUserById(tx, userId);
    if (user === undefined || user.kind !== "individual" || !user.isActive || user.prohibitLogin)
      continue;
    if (reaches(await findAccess(tx, owned, user, toSubjectUnit(kind)), "read")) readers.push(user);
  }
  return readers;
}

/** Returns whether a user has this address and may now read a part of a repository: its code when none is named. */
export async function isReaderAt(
  db: Queries,
  {
    userId,
    repositoryId,
    address,
    kind = "commit",
  }: {
    readonly userId: UserId;
    readonly repositoryId: RepositoryId;
    readonly address: string;
    readonly kind?: NewThread["kind"] | undefined;
  },
): Promise<boolean> {
  const owned = await findOwned(db, repositoryId);
  if (owned === undefined) return false;
  const [reader] = await listReaders(db, [userId], { owned, kind });
  return reader?.email === address;
}

/** Returns whether a user has this address and is now a member of a team. */
export async function isMemberAt(
  db: Queries,
  {
    userId,
    teamId,
    address,
  }: { readonly userId: UserId; readonly teamId: TeamId; readonly address: string },
): Promise<boolean> {
  const user = await findUserById(db, userId);
  if (user?.email !== address || !user.isActive || user.prohibitLogin) return false;
  return isTeamMember(db, teamId, userId);
}

/**
 * Returns whether an account has this address and may sign in; with `resetHash`, and the link of this hash still sets its
 * password.
 */
export async function isAccountAt(
  db: Queries,
  {
    userId,
    address,
    resetHash,
    now,
  }: {
    readonly userId: UserId;
    readonly address: string;
    readonly resetHash?: string | undefined;
    readonly now: number;
  },
): Promise<boolean> {
  const user = await findUserById(db, userId);
  if (user?.email !== address || !user.isActive || user.prohibitLogin) return false;
  if (resetHash === undefined) return true;
  const reset = await findPasswordReset(db, { tokenHash: resetHash });
  return reset?.userId === userId && reset.expiresAt > now && isResetOf(user, reset);
}

/** Notifies the users who may now read the repository, and returns them. */
export async function notifyUsers(
  tx: Transaction,
  userIds: readonly UserId[],
  { owned, ...subject }: Notification & { readonly owned: OwnedRepository },
): Promise<readonly ForgeUser[]> {
  const readers = await listReaders(tx, userIds, { owned, kind: subject.kind });
  for (const { id: userId } of readers)
    await upsertThread(tx, { ...subject, userId, repositoryId: owned.repository.id });
  return readers;
}

/**
 * Notifies any number of users, in transactions of a bounded size. Has no effect once the repository is deleted or
 * `isObsolete` returns true. Idempotent: a thread is notified once of each moment.
 */
export async function notifyInBatches(
  db: Database,
  repositoryId: RepositoryId,
  userIds: readonly UserId[],
  subject: Notification,
  {
    isObsolete = async () => false,
    onNotified,
  }: {
    readonly isObsolete?: (tx: Transaction) => Promise<boolean>;
    /** Called with the users of each batch, in its transaction. */
    readonly onNotified?: (
      tx: Transaction,
      owned: OwnedRepository,
      readers: readonly ForgeUser[],
    ) => Promise<void>;
  } = {},
): Promise<void> {
  for (let start = 0; start < userIds.length; start += BATCH)
    await db.transaction(async (tx) => {
      const owned = await findOwned(tx, repositoryId);
      if (owned === undefined || (await isObsolete(tx))) return;
      const batch = userIds.slice(start, start + BATCH);
      const readers = await notifyUsers(tx, batch, { owned, ...subject });
      await onNotified?.(tx, owned, readers);
    });
}

async function findOwned(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<OwnedRepository | undefined> {
  const repository = await findRepositoryById(db, repositoryId);
  const owner = repository && (await findUserById(db, repository.ownerId));
  return repository && owner && { repository, owner };
}

/** Returns the users whom a text mentions outside its code. */
export async function findMentioned(db: Queries, text: string): Promise<ForgeUser[]> {
  const users: ForgeUser[] = [];
  for (const name of findMentionedNames(text)) {
    const user = await findUserByName(db, name);
    if (user?.kind === "individual") users.push(user);
  }
  return users;
}

/** Returns the names, in lower case, that a text mentions outside its code and its e-mail addresses. */
export function findMentionedNames(text: string): string[] {
  const prose = text
    .replace(/^ {0,3}(```|~~~)[^]*?(?:^ {0,3}\1|$(?![^]))/gm, " ")
    .replace(/``[^\n]{0,1000}?``/g, " ")
    .replace(/`[^`\n]*`/g, " ")
    // Drops the `@` of e-mail addresses. Matching only the sign keeps this linear in a text of long words.
    .replace(/(?<=[\w.+/-])@/g, " ");
  return [...findMentions(prose, MENTIONS_MAX)];
}
