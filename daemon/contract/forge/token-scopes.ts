import type { ScopeCategory } from "../endpoint.ts";

/** The categories in the order of the normal form. */
export const scopeCategories = [
  "activitypub",
  "admin",
  "misc",
  "notification",
  "organization",
  "package",
  "issue",
  "repository",
  "user",
] as const satisfies readonly ScopeCategory[];

/** The scopes that an access token can have. */
export const scopeWords: readonly string[] = [
  "all",
  "public-only",
  ...scopeCategories.flatMap((category) => [`read:${category}`, `write:${category}`]),
];
