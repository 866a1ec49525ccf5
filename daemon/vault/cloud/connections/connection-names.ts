import type { Queries } from "../../../../storage/engine/database.ts";
import { listConnectionNames } from "../../../../storage/tables/vault/connections.ts";
import type { AccountId } from "../../../../storage/tables/vault/ids.ts";

/** The text of a refusal of a taken name. */
export const NAME_TAKEN =
  "You have a connection with this name already. Names are compared without case; choose another one.";

/**
 * Returns whether another connection of the account has the name, without case. Connections of equal names, made
 * before names were compared, keep their names. Inside a transaction no other client can take the name until it ends.
 */
export async function isNameTaken(
  db: Queries,
  userId: AccountId,
  name: string,
  own?: { readonly id: string; readonly displayName: string },
): Promise<boolean> {
  if (own !== undefined && toKey(own.displayName) === toKey(name)) return false;
  const others = await listConnectionNames(db, userId);
  return others.some(({ id, displayName }) => id !== own?.id && toKey(displayName) === toKey(name));
}

/** Returns the name if it is free, else the first free name with a number appended. */
export async function toFreeName(db: Queries, userId: AccountId, name: string): Promise<string> {
  const usedNames = new Set(
    (await listConnectionNames(db, userId)).map(({ displayName }) => toKey(displayName)),
  );
  for (let count = 1; ; count++) {
    const candidate = count === 1 ? name : `${name} ${count}`;
    if (!usedNames.has(toKey(candidate))) return candidate;
  }
}

function toKey(name: string): string {
  return name.normalize("NFC").toLowerCase();
}
