// daemon/forge/pages: the pages that html_url names, rendered on the server. Start in pages.ts (the list of pages),
// then page-handler.ts (sessions, forms, headers). A page reads through the operations of the API (operations.ts).
import type { ReactNode } from "react";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { BytesAnswer, ServerRequest } from "../../http/handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { CallOperation } from "./operations.ts";
import type { Session } from "./sessions.ts";

/** The rendering mode of a text; see the rendering service. */
export interface RenderText {
  readonly text: string;
  readonly mode: "comment" | "file" | "markdown";
  /** `/owner/name`, with `/src/branch/…` for files: the base of relative links. */
  readonly context: string;
  readonly filePath?: string;
}

/** The dependencies and request of a page. */
export interface PageContext {
  readonly request: ServerRequest;
  /** Undefined for an anonymous caller. */
  readonly session: Session | undefined;
  readonly viewer: ForgeUser | undefined;
  readonly urls: ForgeUrls;
  readonly instanceName: string;
  readonly call: CallOperation;
  /** Returns safe HTML, or undefined when the text cannot be rendered and is shown as plain text. */
  readonly render: (text: RenderText) => Promise<string | undefined>;
  /** The fields of a submitted form; empty for GET. */
  readonly form: URLSearchParams;
}

/** The response of a page. */
export type PageAnswer =
  | {
      readonly kind: "page";
      readonly title: string;
      readonly body: ReactNode;
      readonly status?: number;
    }
  | {
      readonly kind: "redirect";
      /** A path of this server. */
      readonly to: string;
      /** Starts this session; null ends the current one. */
      readonly session?: Session | null;
    }
  | {
      /** A plain text for tools. */
      readonly kind: "text";
      readonly contentType: string;
      readonly text: string;
    }
  | {
      /** Bytes of the API, with its headers. */
      readonly kind: "file";
      readonly answer: BytesAnswer;
    };

export type PageParams = Readonly<Record<string, string>>;

/** A page with its address; `**:rest` matches several segments. */
export interface PageRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Whether an account that must change its password may open it. */
  readonly beforePasswordChange?: true;
  readonly run: (context: PageContext, params: PageParams) => Promise<PageAnswer>;
}

/** Returns the page number of a list in the query. */
export function toPageNumber({ query }: ServerRequest): number {
  const page = Number(query.get("page") ?? "1");
  return Number.isSafeInteger(page) && page >= 1 ? page : 1;
}

/** Returns the path to return to; the start page for a path that could leave this server. */
export function toLocalPath(path: string | null): string {
  const isLocal = path !== null && /^\/(?![/\\])[^\\\p{Cc}]*$/u.test(path);
  return isLocal ? path : "/";
}

/** Joins segments to a path. */
export function toPath(...segments: readonly string[]): string {
  return `/${segments.map(encodeURIComponent).join("/")}`;
}

/** Percent-encodes the segments of a path; keeps its slashes. */
export function toFolderPath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
