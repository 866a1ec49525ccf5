// Parses and prints home files: `croft export` writes one, `croft apply` changes a home to match one. They contain no
// secrets.
import { z } from "zod";
import { describeIssue } from "../../../daemon/contract/issue-text.ts";
import { usageError } from "../../errors.ts";
import { toYamlReason } from "../../profile/settings.ts";

const visibility = z.enum(["public", "limited", "private"]);

const token = z.strictObject({ name: z.string(), scopes: z.array(z.string()).optional() });

const user = z.strictObject({
  username: z.string(),
  email: z.string(),
  full_name: z.string().optional(),
  website: z.string().optional(),
  location: z.string().optional(),
  description: z.string().optional(),
  visibility: visibility.optional(),
  admin: z.boolean().optional(),
  active: z.boolean().optional(),
  restricted: z.boolean().optional(),
  prohibit_login: z.boolean().optional(),
  /** Names only: the daemon stores no token values. */
  tokens: z.array(token).optional(),
});

const organization = z.strictObject({
  name: z.string(),
  /** The owner at creation; the caller when absent. */
  owner: z.string().optional(),
  full_name: z.string().optional(),
  email: z.string().optional(),
  description: z.string().optional(),
  website: z.string().optional(),
  location: z.string().optional(),
  visibility: visibility.optional(),
});

const hook = z.strictObject({
  scope: z.enum(["system", "default"]),
  type: z.string(),
  name: z.string().optional(),
  /** Absent when the address itself is a secret, as for chat services. */
  url: z.string().optional(),
  config: z.record(z.string(), z.string()).optional(),
  events: z.array(z.string()).optional(),
  branch_filter: z.string().optional(),
  active: z.boolean().optional(),
});

const vaultUser = z.strictObject({
  handle: z.string(),
  email: z.string(),
  role: z.enum(["user", "admin"]).optional(),
  active: z.boolean().optional(),
});

const setting = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);

const homeFile = z.strictObject({
  version: z.literal(1),
  users: z.array(user).default([]),
  organizations: z.array(organization).default([]),
  hooks: z.array(hook).default([]),
  vault_users: z.array(vaultUser).default([]),
  /** Of the configuration file. */
  settings: z.record(z.string(), setting).default({}),
});

export type HomeFile = z.output<typeof homeFile>;
export type UserEntry = z.output<typeof user>;
export type OrganizationEntry = z.output<typeof organization>;
export type HookEntry = z.output<typeof hook>;
export type VaultUserEntry = z.output<typeof vaultUser>;

/** Parses the YAML of a home. @throws CliError `usage` that names every mistake with its place */
export async function parseHomeFile(text: string, name: string): Promise<HomeFile> {
  const { parse } = await import("yaml");
  let value: unknown;
  try {
    value = parse(text, { logLevel: "error", maxAliasCount: 0 }) as unknown;
  } catch (error) {
    throw usageError(`${name} is not valid YAML: ${toYamlReason(error as Error)}`);
  }
  const parsed = homeFile.safeParse(value, { error: describeIssue });
  if (parsed.success) return parsed.data;
  const mistakes = parsed.error.issues.map(
    ({ path, message }) => `${path.length === 0 ? "the file" : path.join(".")}: ${message}`,
  );
  throw usageError(
    `${name} does not describe a home:\n${mistakes.slice(0, MISTAKES_SHOWN).join("\n")}`,
    '"croft export" prints a file that does',
  );
}

/** Maximum number of mistakes in one error message. */
const MISTAKES_SHOWN = 20;

/**
 * Returns a key for each hook of a home, in order, which no other hook of the list has: hooks of the same scope, type and
 * address are counted, from the second one on.
 */
export function toHookKeys(hooks: readonly HookEntry[]): readonly string[] {
  const counts = new Map<string, number>();
  return hooks.map(({ scope, type, name, url }) => {
    const key = [scope, type, url ?? name ?? ""].join(" ");
    const count = (counts.get(key.toLowerCase()) ?? 0) + 1;
    counts.set(key.toLowerCase(), count);
    return count === 1 ? key : `${key} #${count}`;
  });
}
