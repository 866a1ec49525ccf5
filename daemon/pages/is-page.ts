import type { IncomingMessage } from "node:http";
import { surfaceOf } from "../contract/api-of.ts";

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

export const wantsHtml = (accept = ""): boolean => accept.includes("text/html");
