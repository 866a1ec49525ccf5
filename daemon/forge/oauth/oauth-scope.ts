import type { ScopeCategory } from "../../contract/endpoint.ts";
import { scopeCategories } from "../../contract/forge/token-scopes.ts";
import { isWithin, parseScope, type TokenScope, toScopeWords } from "../accounts/scopes.ts";

/** What an application asks for. */
export interface OauthScope {
  /** Words of OpenID Connect. */
  readonly identity: readonly string[];
  /** What the access token may do. */
  readonly token: TokenScope;
}

/** Words that tell what identity tokens and `userinfo` have. `offline_access` adds nothing: there is always a refresh token. */
export const identityWords = ["openid", "profile", "email", "groups"] as const;
const ignoredWords: readonly string[] = ["offline_access"];

/** Everything, as in Gitea, for an application that names no scope. */
const EVERYTHING = "all";
/** For an application that only wants to know who signs in. */
const IDENTITY_ONLY = "read:user";

/**
 * Parses the scope of a request: words of OpenID Connect and of access tokens, separated by spaces or commas. A category
 * without a level, as `tea` sends it, stands for reading and writing. Returns the first unknown word as `invalid`.
 */
export function parseOauthScope(
  text: string,
):
  | { readonly kind: "scope"; readonly scope: OauthScope }
  | { readonly kind: "invalid"; readonly word: string } {
  const words = text.split(/[\s,]+/).filter((word) => word !== "" && !ignoredWords.includes(word));
  const identity = identityWords.filter((word) => words.includes(word));
  const others = words.filter((word) => !identityWords.some((each) => each === word));
  const asked: string[] = others.map((word) => (isCategory(word) ? `write:${word}` : word));
  if (!asked.some((word) => word !== "public-only"))
    asked.push(identity.length > 0 ? IDENTITY_ONLY : EVERYTHING);
  const parsed = parseScope(asked);
  if (parsed.kind === "invalid") return parsed;
  return { kind: "scope", scope: { identity, token: parsed.scope } };
}

const isCategory = (word: string): word is ScopeCategory =>
  scopeCategories.some((category) => category === word);

/** Returns a scope as it is stored and shown. */
export function toScopeText({ identity, token }: OauthScope): string {
  return [...identity, ...toScopeWords(token)].join(" ");
}

/** Returns a stored scope. */
export function fromScopeText(text: string): OauthScope {
  const parsed = parseOauthScope(text);
  if (parsed.kind === "invalid") throw new Error(`a stored scope has the word ${parsed.word}`);
  return parsed.scope;
}

/** Returns whether `granted` has everything that `asked` has. */
export function isCovered(asked: OauthScope, granted: OauthScope): boolean {
  return (
    isWithin(asked.token, granted.token) &&
    (asked.token.publicOnly || !granted.token.publicOnly) &&
    asked.identity.every((word) => granted.identity.includes(word))
  );
}
