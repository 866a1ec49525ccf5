/** Life of the cookie of a sign-in and of every refresh, in seconds. */
export const REFRESH_SECONDS = 16 * 3600;
/** Lifetime of the first cookie of a sign-in with `remember_me`. */
export const REMEMBERED_SECONDS = 30 * 86_400;

const NAME = "refresh_token";
const ATTRIBUTES = "Path=/api/auth/refresh; HttpOnly; Secure; SameSite=Strict";

/** Returns the `Set-Cookie` header with a refresh token. */
export function setRefreshCookie(token: string, maxAgeSeconds: number): string {
  return `${NAME}=${token}; Max-Age=${maxAgeSeconds}; ${ATTRIBUTES}`;
}

/** The `Set-Cookie` header that clears the refresh token. */
export const CLEAR_REFRESH_COOKIE = `${NAME}=; Max-Age=0; ${ATTRIBUTES}`;

/** Returns the `Cookie` header of a client with a refresh token. */
export const toRefreshCookie = (token: string): string => `${NAME}=${token}`;

/** Returns the first refresh token of a `Cookie` header; undefined when it is missing or empty. */
export function readRefreshCookie(header: string | undefined): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const [name, value] = splitOnce(pair.trim());
    if (name === NAME) return value === "" ? undefined : value;
  }
  return undefined;
}

function splitOnce(pair: string): [string, string] {
  const mark = pair.indexOf("=");
  return mark === -1 ? [pair, ""] : [pair.slice(0, mark), pair.slice(mark + 1)];
}
