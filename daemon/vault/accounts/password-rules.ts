import { AppError } from "../../errors.ts";
import type { BreachLookup } from "../../outbound/breach/lookup.ts";

/** The rules of strength in the order in which they are checked, each with the text of its refusal. */
export const STRENGTH_RULES: readonly {
  readonly text: string;
  readonly holds: (password: string) => boolean;
}[] = [
  {
    text: "Password must be at least 12 characters long",
    // Characters are code points: an emoji is one, not two.
    holds: (password) => Array.from(password).length >= 12,
  },
  {
    text: "Password must contain an upper-case letter",
    holds: (password) => /\p{Lu}/u.test(password),
  },
  {
    text: "Password must contain a lower-case letter",
    holds: (password) => /\p{Ll}/u.test(password),
  },
  { text: "Password must contain a digit", holds: (password) => /\p{Nd}/u.test(password) },
  {
    text: "Password must contain a special character",
    holds: (password) => /[^\p{L}\p{M}\p{N}]/u.test(password),
  },
];

/** Refuses a password that is too weak with the text of the first rule that it breaks. */
export function assertStrong(password: string): void {
  const broken = STRENGTH_RULES.find((rule) => !rule.holds(password));
  if (broken !== undefined) throw new AppError("unprocessable", broken.text);
}

/** Refuses a password that appeared in a data breach. */
export async function assertNotBreached(breaches: BreachLookup, password: string): Promise<void> {
  if (await breaches.isBreached(password))
    throw new AppError(
      "unprocessable",
      "This password has appeared in a data breach. Please choose a different one.",
    );
}
