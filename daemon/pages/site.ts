import type { ReactNode } from "react";
import type { AppError } from "../errors.ts";
import type { ServerRequest } from "../http/handle.ts";
import type { Rendering } from "../rendering/rendering.service.ts";
import type { CallOperation } from "./operations.ts";
import type { PageAnswer, PageRoute } from "./page.ts";
import type { Session, SessionCookie } from "./sessions.ts";

/** A file that belongs to the program. */
export interface SiteAsset {
  readonly path: string;
  readonly contentType: string;
  readonly content: string;
  /** Whether its address has the hash of its content, so that browsers may keep it for ever. */
  readonly isHashed: boolean;
}

/** The pages of one API, and what they share. */
export interface Site<Caller> {
  /** Names the site in the log and in rate limits: `forge.pages`. */
  readonly name: string;
  readonly pages: readonly PageRoute<Caller>[];
  readonly cookie: SessionCookie;
  /** Returns the session of a cookie; undefined when it has ended. */
  readonly findSession: (
    secret: string,
    request: ServerRequest,
  ) => Promise<Session<Caller> | undefined>;
  /** Returns a stable text for the account of a caller, such as its id. */
  readonly toAccount: (caller: Caller) => string;
  /** Returns the appearance that a caller has chosen; undefined for that of the browser. */
  readonly toTheme?: (caller: Caller) => "light" | "dark" | undefined;
  /** Returns calls of the API's operations on behalf of a request. */
  readonly operations: (request: ServerRequest, caller: Caller | undefined) => CallOperation;
  readonly rendering: Rendering;
  /** Returns the navigation about the account at the top of each page. */
  readonly header: (request: ServerRequest, session: Session<Caller> | undefined) => ReactNode;
  /** The page on which a person signs in. */
  readonly signInPath: string;
  /** The first page, which the name of the server links to; `/` when absent. */
  readonly homePath?: string;
  /** Scripts, manifests and pictures of the site. */
  readonly assets?: readonly SiteAsset[];
  /** Returns elements of the head of each page, such as the script. */
  readonly head?: (session: Session<Caller> | undefined) => ReactNode;
  /** Directives of the content security policy that the pages need besides those of all pages. */
  readonly policy?: readonly string[];
  /** Returns the page that the caller must visit before any other, such as the change of a password. */
  readonly requiredPage?: (caller: Caller) => string | undefined;
  /** Whether browsers may keep pages and ask whether they are current; otherwise no cache keeps any. */
  readonly hasCachedPages?: true;
  /** Answers a request before its page is looked up. */
  readonly answerFirst?: (request: ServerRequest, path: string) => PageAnswer<Caller> | undefined;
  /** Returns the address of a page whose resource was renamed. */
  readonly toMovedPage?: (refusal: AppError, target: string) => string;
}
