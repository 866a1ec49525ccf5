import { AppError } from "../../errors.ts";

/** A refused sign-in, refresh or check of a secret: 401 with the document's text. */
export function badCredentials(text: string): AppError {
  return new AppError("invalid_credentials", text);
}

/** The one answer to every access token that is missing or not good (vault API, Authentication). */
export function badAccessToken(): AppError {
  return new AppError("unauthenticated", "Invalid or expired token");
}
