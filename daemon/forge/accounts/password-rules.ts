import { AppError } from "../../errors.ts";
import type { BreachLookup } from "../../outbound/breach/lookup.ts";
import { PASSWORD_BYTES_MAX } from "./authentication.ts";

/** The kinds of characters that a password may have to contain. */
const kinds = {
  lower: { pattern: /[a-z]/, wish: "a lower-case letter" },
  upper: { pattern: /[A-Z]/, wish: "an upper-case letter" },
  digit: { pattern: /[0-9]/, wish: "a digit" },
  spec: { pattern: /[ -/:-@[-`{-~]/, wish: "a special character" },
} as const;

/** A word of the setting `password_complexity`. */
export type CharacterKind = keyof typeof kinds;

export interface PasswordRulesOptions {
  /** In bytes. */
  readonly lengthMin: number;
  readonly characters: readonly CharacterKind[];
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
  return {
    lengthMin,
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
    const bytes = Buffer.byteLength(password);
    if (bytes < lengthMin)
      return { rule: "length", text: `must have at least ${lengthMin} characters` };
    // Basic authentication could not carry it.
    if (bytes > PASSWORD_BYTES_MAX || password.includes("\0"))
      return { rule: "size", text: `must have at most ${PASSWORD_BYTES_MAX} bytes, and no NUL` };
    const missing = characters.find((kind) => !kinds[kind].pattern.test(password));
    if (missing !== undefined)
      return { rule: "characters", text: `must contain ${kinds[missing].wish}` };
    if (await breaches?.isBreached(password))
      return { rule: "breach", text: "has appeared in a data breach; choose a different one" };
    return undefined;
  }
}
