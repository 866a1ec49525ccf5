import type { SlackOptions } from "../../../storage/tables/forge/hooks/hooks.ts";
import { hookTypes } from "../../contract/forge/hooks/fields.ts";
import { isWebUrl } from "../../contract/forge/rules.ts";
import { AppError } from "../../errors.ts";
import { compileGlob } from "../repositories/glob.ts";

/** The `config` member of a request: texts by key. */
export type HookConfig = Readonly<Record<string, string>>;

/** Longest address, secret and header, in characters: none of them is a document. */
const TARGET_CHARACTERS_MAX = 4096;

/** Refuses with `unprocessable` a kind of hook that does not exist, letter by letter. */
export function assertHookType(type: string): void {
  if (!(hookTypes as readonly string[]).includes(type))
    throw unprocessable(`Invalid hook type: ${type}`);
}

/** Refuses with `unprocessable` a config without a member that must be there. */
export function getOption(config: HookConfig, key: string): string {
  const value = Object.hasOwn(config, key) ? config[key] : undefined;
  if (value === undefined) throw unprocessable(`Missing config option: ${key}`);
  return value;
}

export function toContentType(given: string): "json" | "form" {
  if (given === "json" || given === "form") return given;
  throw unprocessable("Invalid content type");
}

/** Refuses with `unprocessable` what is no absolute http or https address. */
export function assertHookUrl(url: string): void {
  if (!isWebUrl(url) || url.length > TARGET_CHARACTERS_MAX) throw unprocessable("Invalid url");
}

/** `true` for a system hook, absent or `false` for a default one; Go's literals, nothing else. */
export function toIsSystem(config: HookConfig): boolean {
  const given = Object.hasOwn(config, "is_system_webhook")
    ? config["is_system_webhook"]
    : undefined;
  if (given === undefined) return false;
  if (/^(?:1|t|T|TRUE|true|True)$/.test(given)) return true;
  if (/^(?:0|f|F|FALSE|false|False)$/.test(given)) return false;
  throw unprocessable("Invalid is_system_webhook value");
}

/** What a slack hook's config says; refuses with `invalid_argument` a blank channel. */
export function toSlackOptions(config: HookConfig): SlackOptions {
  const channel = getOption(config, "channel").trim();
  if (channel === "") throw new AppError("invalid_argument", "Invalid slack channel name");
  const text = (key: string) => (Object.hasOwn(config, key) ? (config[key] ?? "") : "");
  return {
    channel,
    username: text("username"),
    iconUrl: text("icon_url"),
    color: text("color"),
  };
}

/** Refuses with `unprocessable` a pattern that cannot be understood; empty accepts every branch. */
export function assertBranchFilter(pattern: string): void {
  if (pattern !== "" && compileGlob(pattern) === undefined)
    throw unprocessable("[BranchFilter]: GlobPattern");
}

/** Refuses with `unprocessable` a secret or header that cannot be sent: too long, or of more than one line. */
export function assertSendable(secret: string, authorizationHeader: string): void {
  if (secret.length > TARGET_CHARACTERS_MAX) throw unprocessable("Invalid secret");
  if (
    authorizationHeader.length > TARGET_CHARACTERS_MAX ||
    /[^\t\x20-\x7e\x80-\xff]/.test(authorizationHeader)
  )
    throw unprocessable("Invalid authorization header");
}

/** Whether a hook with this filter is told of a branch; a tag counts by its full name only. */
export function passesBranchFilter(pattern: string, ref: string): boolean {
  if (pattern === "" || pattern === "*" || pattern === "**") return true;
  const matches = compileGlob(pattern);
  if (matches === undefined) return false;
  const branch = ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : undefined;
  return matches(ref) || (branch !== undefined && matches(branch));
}

function unprocessable(message: string): AppError {
  return new AppError("unprocessable", message);
}
