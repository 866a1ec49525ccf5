/**
 * Hints for refusals of the vault's account routes, by the document's text. A test fails for a text that the daemon does
 * not use any more.
 */
export const vaultHints: Readonly<Record<string, string>> = {
  "Incorrect email or password":
    'check both; "croft vault password reset --email ADDRESS" mails a link to choose another password',
  "Incorrect code":
    "a code works once and for half a minute: give the next one, and check the clocks of both devices",
  "Invalid or already used code": "each backup code works once: give another one, or --totp CODE",
  "Account deactivated": "an administrator of the vault can activate it again",
  "User not found or deactivated":
    'an administrator of the vault can activate it again; then "croft login vault" signs in',
  "Current password is incorrect":
    'forgotten? "croft vault password reset --email ADDRESS" mails a link to choose another one',
  "Invalid or expired reset link":
    'a link works once and for an hour; "croft vault password reset --email ADDRESS" mails another one',
  "Email or handle already in use":
    'choose others; whose account it is signs in to it: "croft login vault"',
  "This server does not take registrations":
    'an administrator of the vault makes accounts: "croft vault admin user create"',
  "TOTP is already enabled": '"croft vault totp disable" turns it off',
  "Begin with the setup: no secret is waiting":
    '"croft vault totp setup" gives a secret, which waits 15 minutes for its first code',
  "Session not found": '"croft vault session list" shows where you are signed in',
  "You cannot deactivate your own account": "another administrator of the vault can",
  "You cannot delete your own account": "another administrator of the vault can",
  "The last active administrator cannot be deactivated":
    'make another one first: "croft vault admin user create" with --role admin',
  "The last active administrator cannot be deleted":
    'make another one first: "croft vault admin user create" with --role admin',
  "Machine tokens cannot use this route; sign in instead":
    'unset CROFT_VAULT_TOKEN, then "croft login vault" signs in',
  "This machine token has the scope read":
    '"croft vault token create NAME --scope write" makes one that may change things',
  "There is a token of this name already":
    'choose another name, or "croft vault token revoke" the old one',
  "There is a topic of this name already.":
    'names that differ in case or accents are one; "croft vault topic list" shows the topics',
  "There is no export of this day":
    '"croft vault admin audit daily list" shows the days that have one',
  "Administrator access required":
    'sign in as an administrator of the vault: "croft login vault"; profiles keep several accounts',
  "Administrators cannot use this route":
    'administrators have no files: sign in with a regular account, which "croft vault register" makes',
};

/** Messages for the daemon's reasons to refuse a refresh token, which people do not know. */
export const sessionEnds: Readonly<Record<string, string>> = {
  "": "your session in the vault has ended",
  "Session revoked": "your session in the vault was revoked",
  "Invalid or expired refresh token": "your session in the vault has expired or was revoked",
};
