import { AppError } from "../../errors.ts";

/** A refused sign-in, refresh or check of a secret: 401 with the document's text. */
export function badCredentials(text: string): AppError {
  return new AppError("invalid_credentials", text);
}

/** The same refusal for every missing, invalid, expired or revoked access token. */
export function badAccessToken(): AppError {
  return new AppError("unauthenticated", "Invalid or expired token");
}
