// The rules for passwords of both APIs, and the words in which they are told. The vault's are those of its document; the forge's
// are settings.

/** A kind of characters, as the setting `password_complexity` names it. */
export type CharacterKind = "upper" | "lower" | "digit" | "spec";

/** A rule of password strength; `wish` completes the sentence "Password must have …". */
export interface StrengthRule {
  readonly kind: "length" | "characters";
  readonly wish: string;
  readonly holds: (password: string) => boolean;
}

const characterRules: Readonly<Record<CharacterKind, Omit<StrengthRule, "kind">>> = {
  upper: { wish: "an upper-case letter", holds: (text) => /\p{Lu}/u.test(text) },
  lower: { wish: "a lower-case letter", holds: (text) => /\p{Ll}/u.test(text) },
  digit: { wish: "a digit", holds: (text) => /\p{Nd}/u.test(text) },
  spec: { wish: "a special character", holds: (text) => /[^\p{L}\p{M}\p{N}]/u.test(text) },
};

/** What a password must have. */
export interface PasswordDemands {
  /** In code points: an emoji is one character. */
  readonly lengthMin: number;
  readonly characters: readonly CharacterKind[];
}

/** Returns the rules in the order in which they are checked. */
export function toStrengthRules({
  lengthMin,
  characters,
}: PasswordDemands): readonly StrengthRule[] {
  return [
    {
      kind: "length",
      wish: `at least ${lengthMin} characters`,
      holds: (text) => [...text].length >= lengthMin,
    },
    ...characters.map((kind) => ({ kind: "characters" as const, ...characterRules[kind] })),
  ];
}

/** What a password of the vault must have. */
const VAULT_DEMANDS: PasswordDemands = {
  lengthMin: 12,
  characters: ["upper", "lower", "digit", "spec"],
};

/** The rules for passwords of the vault. */
export const STRENGTH_RULES = toStrengthRules(VAULT_DEMANDS);

/** Returns the rules for a password that is for the vault and for the forge, with the forge's demands. */
export function toCommonRules(forge: PasswordDemands): readonly StrengthRule[] {
  return toStrengthRules({
    lengthMin: Math.max(VAULT_DEMANDS.lengthMin, forge.lengthMin),
    characters: [...new Set([...VAULT_DEMANDS.characters, ...forge.characters])],
  });
}

/** Begins the text of a refusal of the vault; the `wish` of the first broken rule follows. */
export const WEAK_PASSWORD = "Password must have ";

/** Returns what a password lacks: `the password must have a digit, a special character`; undefined for a strong one. */
export function findWeakness(password: string): string | undefined {
  const missing = STRENGTH_RULES.filter(({ holds }) => !holds(password.normalize("NFC")));
  return missing.length === 0
    ? undefined
    : `the password must have ${missing.map(({ wish }) => wish).join(", ")}`;
}

/** Returns all rules as one sentence without its full stop: a refusal names the first broken rule only. */
export function describeStrengthRules(rules: readonly StrengthRule[] = STRENGTH_RULES): string {
  const wishes = rules.map(({ wish }) => wish);
  const last = wishes.at(-1) ?? "";
  return `A password has ${wishes.length > 1 ? `${wishes.slice(0, -1).join(", ")} and ` : ""}${last}`;
}
