/**
 * Hints for refusals of the vault's account routes, by the document's text. A test fails for a text that the daemon
 * does
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
  "Storage quota exceeded":
    'delete documents, or ask an administrator of the vault for more with "croft vault admin quota set"; "croft vault quota" shows yours',
  "This folder does not exist on the server.":
    'setting root is a folder on the machine of the daemon: "root=." is your own, which is made for you; others must exist',
  "This folder is not below your own folder on the server, and no administrator granted it to you. A name without a slash before it is a folder below your own.":
    'an administrator of the vault grants folders: "croft vault admin user local-folder set"',
  "Administrators cannot use this route":
    'administrators have no files: sign in with a regular account, which "croft vault register" makes',
};

/** Messages for the daemon's reasons to refuse a refresh token: people do not know the term. */
export const sessionEnds: Readonly<Record<string, string>> = {
  "": "your session in the vault has ended",
  "Session revoked": "your session in the vault was revoked",
  "Invalid or expired refresh token": "your session in the vault has expired or was revoked",
};

/** The message and hint for a failed change of a storage. */
export interface StorageMessage {
  readonly message: string;
  readonly hint?: string;
}

const look = "list the folder again and retry";
const later = 'try again later; "croft vault connection test" checks the storage';

/** Messages by `kind`, or by `kind/reason` if the reason matters. */
const words: Readonly<Record<string, StorageMessage>> = {
  stale: { message: "the item was changed or deleted since it was listed", hint: look },
  conflict: { message: "the name is taken", hint: "choose another name" },
  "conflict/offset_mismatch": {
    message: "another client sends the same upload",
    hint: "repeat the upload when that one has ended",
  },
  "conflict/incomplete": { message: "the upload is not complete", hint: "repeat the upload" },
  "conflict/hash_mismatch": {
    message: "the bytes that arrived are not those of the file, so they were discarded",
    hint: "repeat the upload",
  },
  reauth_required: { message: "the storage must be connected again" },
  invalid_destination: { message: "the item cannot be moved there", hint: "name another folder" },
  "invalid_destination/cross_connection": {
    message: "the destination is in another storage",
    hint: "download it and upload it there",
  },
  "invalid_destination/self_destination": { message: "a folder cannot be moved into itself" },
  "invalid_destination/descendant_destination": {
    message: "a folder cannot be moved into a folder of its own",
  },
  "invalid_destination/not_a_folder": {
    message: "the destination is a file",
    hint: 'name a folder; "croft vault item rename" gives an item another name',
  },
  unsupported_operation: {
    message: "this storage cannot do that",
    hint: '"croft vault connection view --json" shows what it can do',
  },
  "unsupported_preview/unsupported_format": {
    message: "there is no preview of files of this kind",
    hint: '"croft vault item download" gives the file itself',
  },
  "unsupported_preview/provider_error": {
    message: "the storage did not give the file's bytes",
    hint: later,
  },
  "invalid_name/too_long": {
    message: "the name is too long for this storage",
    hint: "choose a shorter one",
  },
  "invalid_name/path_too_long": {
    message: "the path is too long for this storage",
    hint: "choose a shorter name, or a folder higher up",
  },
  "invalid_name/forbidden_character": {
    message: "the name has a character that this storage does not take",
    hint: "choose another name",
  },
  invalid_name: {
    message: "the storage does not take this name",
    hint: "choose another name",
  },
  offline: { message: "the storage is not responding", hint: later },
  "offline/rate_limited": {
    message: "the storage limits requests",
    hint: "try again later",
  },
  "failed/quota_exceeded": {
    message: "the storage is full",
    hint: "free some space and try again",
  },
  "failed/permission_denied": {
    message: "the storage does not allow it",
    hint: "its owner can give the connected account more rights",
  },
  "failed/locked": {
    message: "the item is locked by another client",
    hint: "try again later",
  },
  "failed/unknown_outcome": {
    message: "the storage did not report the outcome",
    hint: "list the folder again with --refresh to see what is there",
  },
  recording_failed: {
    message: "the change succeeded at the storage, but recording it failed",
    hint: "nothing is lost: the folder will be listed again, or at once with --refresh",
  },
};

/**
 * Returns the message for a typed outcome of the vault; undefined for an outcome without a message.
 */
export function findStorageMessage(
  kind: string | undefined,
  reason: string | undefined,
): StorageMessage | undefined {
  return words[`${kind}/${reason}`] ?? words[kind ?? ""];
}
