// daemon/contract/forge: endpoints and wire shapes of the forge API, one file per group of its document.
// Start in common.ts, which declares bodies and queries. This file: the rules of names and addresses.

/** Returns whether the characters of a name are valid for a new account or organization. */
export function isUserName(name: string): boolean {
  return /^[A-Za-z0-9]+(?:[-._][A-Za-z0-9]+)*$/.test(name);
}

/**
 * Addresses of this server that accounts of earlier versions may have as their names. New accounts may not; `croft doctor`
 * looks for such accounts, whose pages the address hides.
 */
export const LATE_ADDRESSES: readonly string[] = [
  "vault",
  "s",
  "r",
  "dav",
  "docs",
  "search",
  "oauth",
  "password-reset",
  "twirp",
];

/** The default of the setting `min_password_length`, in bytes. */
export const PASSWORD_LENGTH_MIN = 8;

/** The longest part of an e-mail address before its `@` (RFC 5321, 4.5.3.1.1). */
export const LOCAL_PART_MAX = 64;

/** Whether text has the shape of an address: dot-separated atoms, and a domain of at least two labels. */
export function isEmailShape(text: string): boolean {
  if (text.lastIndexOf("@") > LOCAL_PART_MAX) return false;
  return /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(
    text,
  );
}

/** Whether text is an absolute http or https address, without line breaks and the like, which parsers drop. */
export function isWebUrl(text: string): boolean {
  return /^https?:\/\/[^\s/?#]\P{Cc}*$/iu.test(text) && URL.canParse(text);
}

/** Length as people count it: code points, not UTF-16 units. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
