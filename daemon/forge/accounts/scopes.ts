import type { ScopeCategory } from "../../contract/endpoint.ts";
import { scopeCategories } from "../../contract/forge/token-scopes.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";

/** A parsed scope list. */
export interface TokenScope {
  readonly publicOnly: boolean;
  /** Level per category; a category that is missing grants nothing. `write` contains `read`. */
  readonly levels: ReadonlyMap<ScopeCategory, "read" | "write">;
}

/** Result of parsing a list of scope words. */
export type ParsedScope =
  | { readonly kind: "scope"; readonly scope: TokenScope }
  | { readonly kind: "invalid"; readonly word: string };

/** Parses scope words. Empty words are skipped; an unknown one makes the list invalid. */
export function parseScope(words: readonly string[]): ParsedScope {
  const levels = new Map<ScopeCategory, "read" | "write">();
  let publicOnly = false;
  for (const word of words) {
    if (word === "") continue;
    if (word === "public-only") publicOnly = true;
    else if (word === "all") for (const category of scopeCategories) levels.set(category, "write");
    else {
      const [level, category, ...rest] = word.split(":");
      const known = scopeCategories.find((each) => each === category);
      if (known === undefined || rest.length > 0 || (level !== "read" && level !== "write"))
        return { kind: "invalid", word };
      if (level === "write" || !levels.has(known)) levels.set(known, level);
    }
  }
  return { kind: "scope", scope: { publicOnly, levels } };
}

/** Returns the words of a scope in normal form: `public-only`, then `all` or one word per category. */
export function toScopeWords({ publicOnly, levels }: TokenScope): string[] {
  const isAll = scopeCategories.every((category) => levels.get(category) === "write");
  const words = scopeCategories.flatMap((category) => {
    const level = levels.get(category);
    return level === undefined ? [] : [`${level}:${category}`];
  });
  return [...(publicOnly ? ["public-only"] : []), ...(isAll ? ["all"] : words)];
}

/** Returns whether a scope grants nothing. */
export function isEmptyScope(scope: TokenScope): boolean {
  return scope.levels.size === 0 && !scope.publicOnly;
}

/** Returns whether `scope` grants `level` on a category. */
export function allows(
  scope: TokenScope,
  level: "read" | "write",
  category: ScopeCategory,
): boolean {
  const granted = scope.levels.get(category);
  return granted === "write" || (granted === "read" && level === "read");
}

/**
 * Throws `forbidden` unless a token's scope grants `level` on a category. A password (`scope`
 * undefined) is unrestricted. Returns the parsed scope.
 */
export function assertTokenScope(
  scope: string | undefined,
  level: "read" | "write",
  category: ScopeCategory,
): TokenScope | undefined {
  if (scope === undefined) return undefined;
  const parsed = parseScope(scope.split(","));
  if (parsed.kind === "invalid")
    throw new AppError(
      "forbidden",
      `checking scope failed: invalid access token scope: ${parsed.word}`,
    );
  if (!allows(parsed.scope, level, category))
    throw new AppError(
      "forbidden",
      `token does not have at least one of required scope(s), required=[${level}:${category}], token scope=${scope}`,
    );
  return parsed.scope;
}

/** Returns whether a token's scope grants `level` on a category. A password (`scope` undefined) is unrestricted. */
export function grantsScope(
  scope: string | undefined,
  level: "read" | "write",
  category: ScopeCategory,
): boolean {
  if (scope === undefined) return true;
  const parsed = parseScope(scope.split(","));
  return parsed.kind === "scope" && allows(parsed.scope, level, category);
}

/** Returns whether the caller's token has the scope `public-only`. */
export function isPublicOnly(caller: Pick<ForgeCaller, "scope"> | undefined): boolean {
  return caller?.scope?.split(",").includes("public-only") === true;
}

/**
 * Returns the user as whom a caller reads a list: a public-only token reads like an anonymous caller, hence undefined.
 */
export function toReader(caller: ForgeCaller | undefined): ForgeCaller["user"] | undefined {
  return isPublicOnly(caller) ? undefined : caller?.user;
}

/** Returns whether `outer` grants everything that `inner` grants. */
export function isWithin(inner: TokenScope, outer: TokenScope): boolean {
  return [...inner.levels].every(([category, level]) => allows(outer, level, category));
}
