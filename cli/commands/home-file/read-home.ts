import type { WireHook } from "../../../daemon/contract/forge/hooks/admin-hooks.ts";
import { forge, vault } from "../../client/operations.ts";
import { forgePages, vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { exitCodeOf, toCliError } from "../../errors.ts";
import { type PageSource, readPages } from "../../output/pages.ts";
import { findOwner } from "../../support/token-owner.ts";
import type {
  HomeFile,
  HookEntry,
  OrganizationEntry,
  UserEntry,
  VaultUserEntry,
} from "./home-file.ts";

/** Which parts of a home are read. */
export interface HomeParts {
  /** Requires a signed-in administrator of the vault. */
  readonly vault: boolean;
}

/** Reads the home that requests go to, and the settings of this machine's configuration file. */
export async function readHome(cli: CliContext, parts: HomeParts): Promise<HomeFile> {
  return {
    version: 1,
    users: await readUsers(cli),
    organizations: await readOrganizations(cli),
    hooks: (await listHooks(cli)).map(({ entry }) => entry),
    vault_users: parts.vault ? await readVaultUsers(cli) : [],
    settings: await readSettings(cli),
  };
}

/** Returns whether the caller is signed in to the vault and may list its users. */
export async function canReadVault(cli: CliContext): Promise<boolean> {
  try {
    await cli.client.call(vault.listUsers, { query: { per_page: 1 } });
    return true;
  } catch (error) {
    const code = exitCodeOf(toCliError(error));
    if (code === NOT_SIGNED_IN || code === FORBIDDEN) return false;
    throw error;
  }
}

const NOT_SIGNED_IN = 4;
const FORBIDDEN = 5;

async function readAll<T>(source: PageSource<T>): Promise<readonly T[]> {
  const all: T[] = [];
  const flags = { page: undefined, limit: undefined, all: true };
  for await (const { items } of readPages(source, flags)) all.push(...items);
  return all;
}

async function readUsers(cli: CliContext): Promise<UserEntry[]> {
  const users = await readAll(forgePages(cli.client, forge.listUsers, {}));
  const { authorization } = await findOwner(cli, {});
  const entries: UserEntry[] = [];
  for (const one of users) {
    const source = forgePages(
      cli.client,
      forge.listTokens,
      { params: { username: one.login } },
      { authorization },
    );
    const tokens = (await readAll(source)).map(({ name, scopes }) => ({ name, scopes }));
    entries.push({
      username: one.login,
      email: one.email,
      ...withText(one, ["full_name", "website", "location", "description"]),
      visibility: one.visibility,
      admin: one.is_admin,
      active: one.active,
      restricted: one.restricted,
      prohibit_login: one.prohibit_login,
      ...(tokens.length === 0 ? {} : { tokens }),
    });
  }
  return entries;
}

async function readOrganizations(cli: CliContext): Promise<OrganizationEntry[]> {
  const organizations = await readAll(forgePages(cli.client, forge.listOrganizations, {}));
  const entries: OrganizationEntry[] = [];
  for (const one of organizations) {
    const owner = await findFirstOwner(cli, one.name);
    entries.push({
      name: one.name,
      ...(owner === undefined ? {} : { owner }),
      ...withText(one, ["full_name", "email", "description", "website", "location"]),
      visibility: one.visibility,
    });
  }
  return entries;
}

/** Returns a member of the team of owners: always the same one, so that two exports are equal. */
async function findFirstOwner(cli: CliContext, org: string): Promise<string | undefined> {
  const teams = await readAll(forgePages(cli.client, forge.listTeams, { params: { org } }));
  const owners = teams.find(({ permission }) => permission === "owner");
  if (owners === undefined) return undefined;
  const members = forgePages(cli.client, forge.listTeamMembers, { params: { team: owners.id } });
  const names = (await readAll(members)).map(({ login }) => login);
  return names.toSorted()[0];
}

/** Lists all hooks of the home, first those of the system, each with its entry. */
export async function listHooks(
  cli: CliContext,
): Promise<readonly { readonly hook: WireHook; readonly entry: HookEntry }[]> {
  const found: { readonly hook: WireHook; readonly entry: HookEntry }[] = [];
  for (const scope of ["system", "default"] as const) {
    const source = forgePages(cli.client, forge.listHooks, { query: { type: scope } });
    for (const hook of await readAll(source)) found.push({ hook, entry: toHookEntry(hook, scope) });
  }
  return found;
}

/**
 * Returns a hook without secrets. Addresses of chat services, and addresses with a password or query, count as secrets.
 */
function toHookEntry(one: WireHook, scope: HookEntry["scope"]): HookEntry {
  const { url = "", ...config } = one.config;
  const publicSettings = Object.entries(config).filter(([name]) => publicMembers.has(name));
  const address = URL.parse(url);
  const isPlain =
    (one.type === "gitea" || one.type === "gogs") &&
    address !== null &&
    address.username === "" &&
    address.password === "" &&
    address.search === "";
  return {
    scope,
    type: one.type,
    ...withText(one, ["name"]),
    ...(isPlain ? { url } : {}),
    ...(publicSettings.length === 0 ? {} : { config: Object.fromEntries(publicSettings) }),
    events: one.events.toSorted(),
    ...withText(one, ["branch_filter"]),
    active: one.active,
  };
}

const publicMembers: ReadonlySet<string> = new Set([
  "content_type",
  "channel",
  "username",
  "color",
]);

async function readVaultUsers(cli: CliContext): Promise<VaultUserEntry[]> {
  const users = await readAll(vaultPages(cli.client, vault.listUsers, {}));
  return users.map(({ handle, email, role, is_active: active }) => ({
    handle,
    email,
    role,
    active,
  }));
}

/** The settings of the configuration file, without secrets. */
async function readSettings(cli: CliContext): Promise<HomeFile["settings"]> {
  const { parse } = await import("yaml");
  const { readTextFile } = await import("../../profile/config-file.ts");
  const { readAllSettings, readPaths } = await import("../../profile/settings.ts");
  const { values } = readAllSettings(cli.system, cli.flags, {});
  // As the file has them: a resolved value is another text, such as an absolute path, or nothing for "none".
  const text = readTextFile(readPaths(cli.system, cli.flags).configFile) ?? "";
  const written = (parse(text, { logLevel: "error" }) ?? {}) as HomeFile["settings"];
  const own = values.filter(({ source, secret }) => source === "file" && !secret);
  return Object.fromEntries(own.map(({ key }) => [key, written[key] ?? ""]));
}

/** Returns the fields that are not empty. */
function withText<Field extends string>(
  one: Readonly<Record<Field, string>>,
  fields: readonly Field[],
): Partial<Record<Field, string>> {
  return Object.fromEntries(
    fields.filter((field) => one[field] !== "").map((field) => [field, one[field]]),
  ) as Partial<Record<Field, string>>;
}
