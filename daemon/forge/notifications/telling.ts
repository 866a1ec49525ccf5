import type { Transaction } from "../../../storage/engine/database.ts";
import { type NewThread, tellThread } from "../../../storage/tables/forge/notifications.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { findMentions } from "../rendering/html/text-rules.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import type { OwnedRepository } from "../repositories/events.ts";

/** Something that people are to be told of. */
export interface News extends Omit<NewThread, "userId" | "repositoryId"> {
  readonly what: OwnedRepository;
}

/** People that one text may mention. */
const MENTIONS_MAX = 50;
/** People told in one transaction: others want to write, too. */
export const TOLD_AT_ONCE = 100;

/** Tells these people, those of them who exist, may sign in and may read the repository at this moment. */
export async function tellPeople(
  tx: Transaction,
  userIds: readonly number[],
  { what, ...news }: News,
): Promise<void> {
  for (const userId of userIds) {
    const user = await findUserById(tx, userId);
    if (user === undefined || user.kind !== "individual" || !user.isActive || user.prohibitLogin)
      continue;
    if (!reaches(await findAccess(tx, what, user), "read")) continue;
    await tellThread(tx, { ...news, userId, repositoryId: what.repository.id });
  }
}

/** The people whom a text mentions outside its code. */
export async function findMentioned(
  db: Parameters<typeof findUserByName>[0],
  text: string,
): Promise<ForgeUser[]> {
  const users: ForgeUser[] = [];
  for (const name of findMentionedNames(text)) {
    const user = await findUserByName(db, name);
    if (user?.kind === "individual") users.push(user);
  }
  return users;
}

/** The names, in small letters, that a text mentions outside its code and its addresses. */
export function findMentionedNames(text: string): string[] {
  const prose = text
    .replace(/^ {0,3}(```|~~~)[^]*?(?:^ {0,3}\1|$(?![^]))/gm, " ")
    .replace(/``[^\n]{0,1000}?``/g, " ")
    .replace(/`[^`\n]*`/g, " ")
    // What stands in an address is no mention. The sign alone is looked for: a long word before it costs nothing.
    .replace(/(?<=[\w.+/-])@/g, " ");
  return [...findMentions(prose, MENTIONS_MAX)];
}
