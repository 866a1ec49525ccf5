/** A rule of password strength; `wish` completes the sentence "Password must have …". */
interface StrengthRule {
  readonly wish: string;
  readonly pattern: RegExp;
}

/**
 * The rules for passwords of the vault in the order in which they are checked. Characters are code
 * points: an emoji is one.
 */
export const STRENGTH_RULES: readonly StrengthRule[] = [
  { wish: "at least 12 characters", pattern: /^.{12,}$/su },
  { wish: "an upper-case letter", pattern: /\p{Lu}/u },
  { wish: "a lower-case letter", pattern: /\p{Ll}/u },
  { wish: "a digit", pattern: /\p{Nd}/u },
  { wish: "a special character", pattern: /[^\p{L}\p{M}\p{N}]/u },
];

/** Begins the text of a refusal; the `wish` of the first broken rule follows. */
export const WEAK_PASSWORD = "Password must have ";

/** Returns what a password lacks: `the password must have a digit, a special character`; undefined for a strong one. */
export function findWeakness(password: string): string | undefined {
  const missing = STRENGTH_RULES.filter(({ pattern }) => !pattern.test(password.normalize("NFC")));
  return missing.length === 0
    ? undefined
    : `the password must have ${missing.map(({ wish }) => wish).join(", ")}`;
}

/** Returns all rules as one sentence without its full stop: a refusal names the first broken rule only. */
export function describeStrengthRules(): string {
  const wishes = STRENGTH_RULES.map(({ wish }) => wish);
  return `A password has ${wishes.slice(0, -1).join(", ")} and ${wishes.at(-1) ?? ""}`;
}
