import type { OauthApplication } from "../../../storage/tables/forge/accounts/oauth.ts";
import { AppError } from "../../errors.ts";

const URIS_MAX = 20;
const CHARACTERS_MAX = 2_000;
/** Schemes that a browser would run or read itself. */
const refusedSchemes = [
  "javascript:",
  "data:",
  "vbscript:",
  "file:",
  "blob:",
  "about:",
  "view-source:",
];

/** Refuses with `invalid_argument` a list of addresses that an application cannot have. */
export function assertRedirectUris(uris: readonly string[]): void {
  if (uris.length === 0) throw invalid("an application needs a redirect URI");
  if (uris.length > URIS_MAX) throw invalid(`an application has at most ${URIS_MAX} redirect URIs`);
  for (const uri of uris)
    if (toRedirectUrl(uri) === undefined)
      throw invalid(`invalid redirect URI: ${uri.slice(0, 100)}`);
}

/** Parses an absolute address without fragment and credentials; undefined for any other text. */
function toRedirectUrl(uri: string): URL | undefined {
  if (uri.length > CHARACTERS_MAX || /[\p{Cc}\p{Z}\\#]/u.test(uri) || !URL.canParse(uri))
    return undefined;
  const url = new URL(uri);
  if (refusedSchemes.includes(url.protocol) || url.username !== "" || url.password !== "")
    return undefined;
  return url;
}

/**
 * Returns the address of a request if the application has registered it: the same text, or for a public client the loopback
 * address with any port (RFC 8252, 7.3). An application with one address need not name it.
 */
export function findRedirectUri(
  { redirectUris, isConfidential }: OauthApplication,
  asked: string,
): string | undefined {
  const [only] = redirectUris;
  if (asked === "") return redirectUris.length === 1 ? only : undefined;
  const url = toRedirectUrl(asked);
  if (url === undefined) return undefined;
  if (redirectUris.includes(asked)) return asked;
  if (isConfidential || !isLoopback(url)) return undefined;
  const isSame = redirectUris.some((uri) => {
    const registered = toRedirectUrl(uri);
    return registered !== undefined && withoutPort(registered) === withoutPort(url);
  });
  return isSame ? asked : undefined;
}

/** By number: what `localhost` names is up to the machine (RFC 8252, 8.3). */
const isLoopback = ({ protocol, hostname }: URL): boolean =>
  protocol === "http:" && (/^127(?:\.\d{1,3}){3}$/.test(hostname) || hostname === "[::1]");

function withoutPort(url: URL): string {
  const copy = new URL(url);
  copy.port = "";
  return copy.href;
}

const invalid = (text: string): AppError => new AppError("invalid_argument", text);
