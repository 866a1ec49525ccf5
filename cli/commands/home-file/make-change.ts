import { forge, vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { readPages } from "../../output/pages.ts";
import { randomPassword } from "../../support/secrets.ts";
import { findOwner } from "../../support/token-owner.ts";
import { toEventWords } from "../hook/hook-flags.ts";
import { type HookEntry, toHookKeys } from "./home-file.ts";
import type { ConfigValue } from "../../profile/edit-config.ts";
import type { Change } from "./plan.ts";
import { findLoginName } from "../admin/user-edit.ts";
import { listHooks } from "./read-home.ts";

/** Makes one change of a plan. Returns the password of an account that it created, which is shown once. */
export async function makeChange(cli: CliContext, change: Change): Promise<string | null> {
  const fields = Object.fromEntries(change.changes.map(({ field, to }) => [field, to]));
  switch (change.kind) {
    case "user":
      return change.action === "create"
        ? createUser(cli, change.name, fields)
        : editUser(cli, change.name, fields);
    case "organization":
      return change.action === "create"
        ? createOrganization(cli, change.name, fields)
        : editOrganization(cli, change.name, fields);
    case "hook":
      return change.action === "create" ? createHook(cli, fields) : editHook(cli, change, fields);
    case "vault_user":
      return change.action === "create"
        ? createVaultUser(cli, change.name, fields)
        : setVaultStatus(cli, change.name, fields["active"] === true);
    case "setting":
      return writeSetting(cli, change.name, fields[change.name]);
    case "token":
      return null;
  }
}

type Fields = Readonly<Record<string, unknown>>;

async function createUser(cli: CliContext, username: string, fields: Fields): Promise<string> {
  const password = randomPassword(cli.system.random);
  await cli.client.call(forge.createUser, {
    body: {
      username,
      email: String(fields["email"]),
      password,
      must_change_password: true,
      ...pick(fields, ["full_name", "visibility", "restricted"]),
    },
  });
  const rest = Object.entries(fields).filter(([field]) => !createdWith.has(field));
  // If the run stops here, the next run finds the user and completes it with an edit.
  if (rest.length > 0) await editUser(cli, username, Object.fromEntries(rest));
  return password;
}

const createdWith: ReadonlySet<string> = new Set([
  "email",
  "full_name",
  "visibility",
  "restricted",
]);

async function editUser(cli: CliContext, username: string, fields: Fields): Promise<null> {
  // The route demands the login name, which the file does not have.
  const loginName = await findLoginName(cli, username);
  await cli.client.call(forge.editUser, {
    params: { username },
    body: { login_name: loginName, ...fields },
  });
  return null;
}

async function createOrganization(cli: CliContext, name: string, fields: Fields): Promise<null> {
  const { owner, ...rest } = fields;
  const username = typeof owner === "string" ? owner : (await findOwner(cli, {})).username;
  await cli.client.call(forge.createOrganization, {
    params: { username },
    body: { ...rest, username: name },
  });
  // As in Gitea, an administrator's request to create an organization takes no address.
  const { email } = fields;
  if (typeof email === "string" && email !== "") await editOrganization(cli, name, { email });
  return null;
}

async function editOrganization(cli: CliContext, name: string, fields: Fields): Promise<null> {
  await cli.client.call(forge.editOrganization, { params: { org: name }, body: fields });
  return null;
}

async function createHook(cli: CliContext, fields: Fields): Promise<null> {
  const entry = fields as unknown as HookEntry;
  await cli.client.call(forge.createHook, {
    body: {
      type: entry.type,
      config: {
        content_type: "json",
        ...entry.config,
        url: entry.url ?? "",
        is_system_webhook: String(entry.scope === "system"),
      },
      events: entry.events && toEventWords(entry.events),
      branch_filter: entry.branch_filter,
      active: entry.active ?? true,
      name: entry.name,
    },
  });
  return null;
}

async function editHook(cli: CliContext, { name }: Change, fields: Fields): Promise<null> {
  const entry = fields as Partial<HookEntry>;
  const { id, events, branch_filter: branches } = await findHook(cli, name);
  await cli.client.call(forge.editHook, {
    params: { id },
    query: { keep_authorization_header: true },
    body: {
      ...(entry.config === undefined ? {} : { config: entry.config }),
      // The API overwrites events and branches with every edit.
      events: toEventWords(entry.events ?? events),
      branch_filter: entry.branch_filter ?? branches,
      active: entry.active,
      name: entry.name,
    },
  });
  return null;
}

async function findHook(cli: CliContext, key: string) {
  const hooks = await listHooks(cli);
  const keys = toHookKeys(hooks.map(({ entry }) => entry));
  const index = keys.findIndex((one) => one.toLowerCase() === key.toLowerCase());
  const found = hooks[index];
  if (found !== undefined) return found.hook;
  throw new CliError("not_found", `the hook ${key} was deleted in the meantime`);
}

async function createVaultUser(cli: CliContext, handle: string, fields: Fields): Promise<null> {
  const { body } = await cli.client.call(vault.createUser, {
    body: {
      handle,
      email: String(fields["email"]),
      role: fields["role"] === "admin" ? "admin" : "user",
    },
  });
  if (fields["active"] === false)
    await cli.client.call(vault.setUserStatus, {
      params: { id: body.id },
      body: { is_active: false },
    });
  return null;
}

async function setVaultStatus(cli: CliContext, handle: string, isActive: boolean): Promise<null> {
  const flags = { page: undefined, limit: undefined, all: true };
  const source = vaultPages(cli.client, vault.listUsers, { query: { q: handle } });
  for await (const { items } of readPages(source, flags)) {
    const found = items.find((one) => one.handle.toLowerCase() === handle.toLowerCase());
    if (found === undefined) continue;
    await cli.client.call(vault.setUserStatus, {
      params: { id: found.id },
      body: { is_active: isActive },
    });
    return null;
  }
  throw new CliError("not_found", `the vault user ${handle} was deleted in the meantime`);
}

async function writeSetting(cli: CliContext, key: string, value: unknown): Promise<null> {
  const { changeConfig } = await import("../../profile/edit-config.ts");
  const { readPaths } = await import("../../profile/settings.ts");
  const { configFile } = readPaths(cli.system, cli.flags);
  await changeConfig(cli, configFile, key, value as ConfigValue);
  return null;
}

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
}
