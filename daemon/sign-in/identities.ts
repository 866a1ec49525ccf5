import { AppError } from "../errors.ts";
import type { Identity } from "./oidc-client.ts";

// What the accounts of forge and vault have in common when they are linked to an identity.

/** What the provider calls a person, for a list of identities; it decides nothing. */
export const toLabel = ({ email, username, subject }: Identity): string =>
  email ?? (username || subject);

/** Returns the name of a person at the provider as letters, digits and hyphens; it may be empty. */
export function toAccountName({ username, email }: Identity): string {
  const [wanted = ""] = (username || (email ?? "")).split("@");
  return wanted.normalize("NFKD").replace(/[^A-Za-z0-9]+/g, "-");
}

export const linkedElsewhere = (): AppError =>
  new AppError("conflict", "This identity is linked to another account.");

/** Refuses to unlink the last identity of an account without a password. */
export const onlyWayToSignIn = (): AppError =>
  new AppError(
    "conflict",
    'This is the only way to sign in. Choose a password first: "Forgot your password?" mails a link.',
  );
