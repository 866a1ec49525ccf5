import { STRENGTH_RULES, WEAK_PASSWORD } from "../../contract/password-rules.ts";
import { AppError } from "../../errors.ts";
import type { BreachLookup } from "../../outbound/breach/lookup.ts";

/** Refuses a password that is too weak and names the first rule that it breaks. */
export function assertStrong(password: string): void {
  const broken = STRENGTH_RULES.find((rule) => !rule.holds(password));
  if (broken !== undefined) throw new AppError("unprocessable", `${WEAK_PASSWORD}${broken.wish}`);
}

/** Refuses a password that appeared in a data breach. */
export async function assertNotBreached(breaches: BreachLookup, password: string): Promise<void> {
  if (await breaches.isBreached(password))
    throw new AppError(
      "unprocessable",
      "This password has appeared in a data breach. Please choose a different one.",
    );
}
