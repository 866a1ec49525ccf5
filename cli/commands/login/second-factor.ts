/** What proves the second factor. */
export type SecondFactor = { readonly totp: string } | { readonly backupCode: string };

/** What a person typed into one field: six digits are a code of the app, anything else a backup code. */
export function toSecondFactor(typed: string): SecondFactor {
  const plain = typed.replaceAll(/\s/g, "");
  return /^\d{6}$/.test(plain) ? { totp: plain } : { backupCode: plain };
}
