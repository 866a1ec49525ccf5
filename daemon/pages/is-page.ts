import type { IncomingMessage } from "node:http";
import { INVITATION_PAGE, surfaceOf, VAULT_PAGES } from "../contract/api-of.ts";

/**
 * Returns whether a request is for a page: any address that is neither an API's nor a page of its own. The
 * start page shows repositories to browsers only.
 */
export function isPage(
  path: string,
  { method = "", headers }: IncomingMessage,
  own: ReadonlyMap<string, unknown>,
): boolean {
  if (!["GET", "HEAD", "POST"].includes(method) || surfaceOf(path) !== undefined) return false;
  return path === "/" ? wantsHtml(headers.accept) : !own.has(path);
}

/** The page of a link that resets a password of the vault, as its mails name it. */
const RESET_PAGE = "/password-reset/confirm";

/** Returns whether a page belongs to the site of the vault, as the invitation to both APIs does. All others are the forge's. */
export function isVaultPage(path: string): boolean {
  if (path === VAULT_PAGES || path.startsWith(`${VAULT_PAGES}/`)) return true;
  return path === RESET_PAGE || path === INVITATION_PAGE;
}

export const wantsHtml = (accept = ""): boolean => accept.includes("text/html");
