import type { SlackOptions } from "../../../storage/tables/forge/hooks/hooks.ts";
import { hookTypes } from "../../contract/forge/hooks/fields.ts";
import { isWebUrl } from "../../contract/forge/rules.ts";
import { AppError } from "../../errors.ts";
import { compileGlob } from "../../utilities/glob.ts";

/** The `config` member of a request. */
export type HookConfig = Readonly<Record<string, string>>;

/** Maximum length of a URL, a secret and a header, in characters. */
const TARGET_CHARACTERS_MAX = 4096;

/** Throws `unprocessable` for an unknown kind of hook. Case-sensitive. */
export function assertHookType(type: string): void {
  if (!(hookTypes as readonly string[]).includes(type))
    throw unprocessable(`Invalid hook type: ${type}`);
}

/** Returns a required member. Throws `unprocessable` if it is missing. */
export function getOption(config: HookConfig, key: string): string {
  const value = Object.hasOwn(config, key) ? config[key] : undefined;
  if (value === undefined) throw unprocessable(`Missing config option: ${key}`);
  return value;
}

export function toContentType(value: string): "json" | "form" {
  if (value === "json" || value === "form") return value;
  throw unprocessable("Invalid content type");
}

/** Throws `unprocessable` unless the URL is an absolute http or https address. */
export function assertHookUrl(url: string): void {
  if (!isWebUrl(url) || url.length > TARGET_CHARACTERS_MAX) throw unprocessable("Invalid url");
}

/** Returns whether a hook is a system hook, by Go's boolean literals; absent is false. Throws `unprocessable`. */
export function toIsSystem(config: HookConfig): boolean {
  const value = Object.hasOwn(config, "is_system_webhook")
    ? config["is_system_webhook"]
    : undefined;
  if (value === undefined) return false;
  if (/^(?:1|t|T|TRUE|true|True)$/.test(value)) return true;
  if (/^(?:0|f|F|FALSE|false|False)$/.test(value)) return false;
  throw unprocessable("Invalid is_system_webhook value");
}

/** Returns the options of a Slack hook. Throws `invalid_argument` for a blank channel. */
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

/** Throws `unprocessable` for an invalid pattern. An empty pattern matches every branch. */
export function assertBranchFilter(pattern: string): void {
  if (pattern !== "" && compileGlob(pattern) === undefined)
    throw unprocessable("[BranchFilter]: GlobPattern");
}

/** Throws `unprocessable` for a secret or header that is too long or cannot be sent in an HTTP header. */
export function assertSendable(secret: string, authorizationHeader: string): void {
  if (secret.length > TARGET_CHARACTERS_MAX) throw unprocessable("Invalid secret");
  if (
    authorizationHeader.length > TARGET_CHARACTERS_MAX ||
    /[^\t\x20-\x7e\x80-\xff]/.test(authorizationHeader)
  )
    throw unprocessable("Invalid authorization header");
}

/** Returns whether the branch name or the full name of a ref matches a branch filter. */
export function passesBranchFilter(pattern: string, ref: string): boolean {
  return (
    passesEveryRef(pattern) || toFilteredNames(ref).some((name) => compileGlob(pattern)?.(name))
  );
}

/** Returns whether a branch filter passes every ref. */
export function passesEveryRef(pattern: string): boolean {
  return pattern === "" || pattern === "*" || pattern === "**";
}

/** Returns the names of a ref of which a branch filter must match one: the full name, and that of the branch. */
export function toFilteredNames(ref: string): string[] {
  return ref.startsWith("refs/heads/") ? [ref, ref.slice("refs/heads/".length)] : [ref];
}

function unprocessable(message: string): AppError {
  return new AppError("unprocessable", message);
}
