import { isDeepStrictEqual } from "node:util";
import { type HomeFile, toHookKeys } from "./home-file.ts";

/** A field that differs; `from` is null when the home has no value. */
export interface FieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** One difference between a file and a home. `apply` cannot resolve a `skip`, for the given `reason`. */
export interface Change {
  readonly action: "create" | "edit" | "skip";
  readonly kind: "user" | "organization" | "hook" | "vault_user" | "setting" | "token";
  readonly name: string;
  readonly changes: readonly FieldChange[];
  readonly reason: string | null;
}

/**
 * Returns the changes that make `present` match `desired`. Fields that the file omits keep their values, and nothing
 * is deleted. Users come first, because organizations are created for them.
 */
export function planChanges(desired: HomeFile, present: HomeFile): readonly Change[] {
  return [
    ...planList(
      "user",
      desired.users,
      present.users,
      each(({ username }) => username),
    ),
    ...planTokens(desired, present),
    ...planList(
      "organization",
      desired.organizations,
      present.organizations,
      each(({ name }) => name),
    ),
    ...planList("hook", desired.hooks, present.hooks, toHookKeys).map(
      withoutSecretAddress(desired),
    ),
    ...planList(
      "vault_user",
      desired.vault_users,
      present.vault_users,
      each(({ handle }) => handle),
    ).map(withoutVaultEdits),
    ...planSettings(desired, present),
  ];
}

/** Fields that name the object or are planned by themselves. */
const planned: ReadonlySet<string> = new Set(["tokens", "username", "handle"]);
/** Fields that only a creation takes. */
const fixed: ReadonlySet<string> = new Set(["owner"]);

/** Names are compared without case, as the daemon compares them. */
function planList<Entry extends object>(
  kind: Change["kind"],
  desired: readonly Entry[],
  present: readonly Entry[],
  namesOf: (entries: readonly Entry[]) => readonly string[],
): Change[] {
  const presentNames = namesOf(present);
  const byName = new Map(
    present.map((entry, index) => [(presentNames[index] ?? "").toLowerCase(), entry]),
  );
  const names = namesOf(desired);
  return desired.flatMap((entry, index): Change[] => {
    const name = names[index] ?? "";
    const old = byName.get(name.toLowerCase()) as Readonly<Record<string, unknown>> | undefined;
    const changes = Object.entries(entry)
      .filter(([field, value]) => value !== undefined && !planned.has(field))
      .filter(([field]) => old === undefined || !fixed.has(field))
      .map(([field, to]): FieldChange => ({ field, from: old?.[field] ?? null, to: to as unknown }))
      .filter(({ from, to }) => old === undefined || !isSame(from, to));
    if (old === undefined) return [{ action: "create", kind, name, changes, reason: null }];
    return changes.length === 0 ? [] : [{ action: "edit", kind, name, changes, reason: null }];
  });
}

function each<Entry>(nameOf: (entry: Entry) => string) {
  return (entries: readonly Entry[]) => entries.map(nameOf);
}

/** The order of lists does not matter; an absent text equals an empty one. */
function isSame(from: unknown, to: unknown): boolean {
  const sort = (value: unknown) =>
    Array.isArray(value) ? value.map(String).toSorted() : (value ?? "");
  return isDeepStrictEqual(sort(from), sort(to));
}

/** Values of tokens are secrets, so the owners make them. */
function planTokens(desired: HomeFile, present: HomeFile): Change[] {
  const known = new Set(
    present.users.flatMap(({ username, tokens = [] }) =>
      tokens.map(({ name }) => `${username.toLowerCase()}/${name}`),
    ),
  );
  return desired.users.flatMap(({ username, tokens = [] }) =>
    tokens
      .map(({ name }) => `${username.toLowerCase()}/${name}`)
      .filter((name) => !known.has(name))
      .map((name) => ({
        action: "skip" as const,
        kind: "token" as const,
        name,
        changes: [],
        reason: "its owner makes it: croft token create",
      })),
  );
}

/** A hook without its address can be edited, if it exists, but not created. */
function withoutSecretAddress({ hooks }: HomeFile): (change: Change) => Change {
  const keys = toHookKeys(hooks);
  const known = new Set(keys.filter((_, index) => hooks[index]?.url !== undefined));
  return (change) =>
    change.action !== "create" || known.has(change.name)
      ? change
      : { ...change, action: "skip", reason: "its url is a secret: add it to the file" };
}

/** No request of an administrator changes an e-mail address or a role in the vault. */
function withoutVaultEdits(change: Change): Change {
  const isPossible = change.changes.every(({ field }) => field === "active");
  if (change.action !== "edit" || isPossible) return change;
  const reason = "the vault does not let administrators change e-mail addresses and roles";
  return { ...change, action: "skip", reason };
}

function planSettings(desired: HomeFile, present: HomeFile): Change[] {
  return Object.entries(desired.settings)
    .map(([field, to]): FieldChange => ({ field, from: present.settings[field] ?? null, to }))
    .filter(({ from, to }) => !isDeepStrictEqual(from, to))
    .map((change) => ({
      action: change.from === null ? "create" : "edit",
      kind: "setting",
      name: change.field,
      changes: [change],
      reason: null,
    }));
}
