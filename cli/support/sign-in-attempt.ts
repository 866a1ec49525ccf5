/** The code of a second factor. */
export type SecondFactor = { readonly totp: string } | { readonly backupCode: string };

/** Parses a typed code: six digits are a TOTP code, any other text is a backup code. */
export function toSecondFactor(typed: string): SecondFactor {
  const plain = typed.replaceAll(/\s/g, "");
  return /^\d{6}$/.test(plain) ? { totp: plain } : { backupCode: plain };
}

/** The input of one attempt to sign in. */
export interface Attempt {
  readonly email: string;
  readonly password: string;
  readonly factor: SecondFactor | undefined;
}

/** The outcome of an attempt. */
export type AttemptOutcome =
  | {
      readonly kind: "signed_in";
      readonly handle: string;
      readonly email: string;
      readonly role: string;
    }
  | { readonly kind: "code_needed" };
