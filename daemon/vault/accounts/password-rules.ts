import { AppError } from "../../errors.ts";
import type { BreachLookup } from "../../outbound/breach/lookup.ts";

/** A rule of password strength; `wish` completes the sentence "Password must have …". */
export interface StrengthRule {
  readonly wish: string;
  readonly pattern: RegExp;
}

/** The rules of strength in the order in which they are checked. Characters are code points: an emoji is one. */
export const STRENGTH_RULES: readonly StrengthRule[] = [
  { wish: "at least 12 characters", pattern: /^.{12,}$/su },
  { wish: "an upper-case letter", pattern: /\p{Lu}/u },
  { wish: "a lower-case letter", pattern: /\p{Ll}/u },
  { wish: "a digit", pattern: /\p{Nd}/u },
  { wish: "a special character", pattern: /[^\p{L}\p{M}\p{N}]/u },
];

/** Refuses a password that is too weak and names the first rule that it breaks. */
export function assertStrong(password: string): void {
  const broken = STRENGTH_RULES.find((rule) => !rule.pattern.test(password));
  if (broken !== undefined)
    throw new AppError("unprocessable", `Password must have ${broken.wish}`);
}

/** Refuses a password that appeared in a data breach. */
export async function assertNotBreached(breaches: BreachLookup, password: string): Promise<void> {
  if (await breaches.isBreached(password))
    throw new AppError(
      "unprocessable",
      "This password has appeared in a data breach. Please choose a different one.",
    );
}
