import {
  describeStrengthRules,
  type PasswordDemands,
  toStrengthRules,
} from "../../contract/password-rules.ts";
import { AppError } from "../../errors.ts";
import type { BreachLookup } from "../../outbound/breach/lookup.ts";
import { PASSWORD_BYTES_MAX } from "./authentication.ts";

export interface PasswordRulesOptions extends PasswordDemands {
  /** Undefined when breaches are not checked. */
  readonly breaches: BreachLookup | undefined;
}

/** The rule that a password breaks, with a text for each of the routes that sets one. */
export interface BrokenRule {
  readonly rule: "length" | "characters" | "breach" | "size";
  /** Completes "the new password …". */
  readonly text: string;
}

export type PasswordRules = ReturnType<typeof createPasswordRules>;

/** The rules for passwords of the forge. */
export function createPasswordRules(options: PasswordRulesOptions) {
  const { lengthMin, characters, breaches } = options;
  const demands: PasswordDemands = { lengthMin, characters };
  const strengthRules = toStrengthRules(demands);
  return {
    lengthMin,
    demands,
    /** Returns the rules as one sentence, for people who choose a password. */
    describe: (): string => `${describeStrengthRules(strengthRules)}.`,
    /** Returns the first rule that a password breaks. Looks it up in breaches last. */
    findBroken,
    /** Throws `unprocessable` with the first rule that a new password breaks. */
    async assertAllowed(password: string): Promise<void> {
      const broken = await findBroken(password);
      if (broken !== undefined)
        throw new AppError("unprocessable", `the new password ${broken.text}`);
    },
  };

  async function findBroken(password: string): Promise<BrokenRule | undefined> {
    // Basic authentication could not carry it.
    if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX || password.includes("\0"))
      return { rule: "size", text: `must have at most ${PASSWORD_BYTES_MAX} bytes, and no NUL` };
    const missing = strengthRules.find(({ holds }) => !holds(password));
    if (missing !== undefined) return { rule: missing.kind, text: `must have ${missing.wish}` };
    if (await breaches?.isBreached(password))
      return { rule: "breach", text: "has appeared in a data breach; choose a different one" };
    return undefined;
  }
}
