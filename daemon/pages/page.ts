// daemon/pages: the kit of the pages that the server renders, for both APIs; it knows neither. A site (site.ts) is the pages of one
// API with its sessions, operations and header. Start here (a page), then page-handler.ts (sessions, forms, headers), elements.tsx
// and form.tsx (what pages are made of), standalone-page.tsx (pages without a session).
import type { ReactNode } from "react";
import type { AppError } from "../errors.ts";
import type { BytesAnswer, FilePart, ServerRequest } from "../http/handle.ts";
import type { CallOperation } from "./operations.ts";
import type { Session } from "./sessions.ts";

/** The rendering mode of a text; see the rendering service. */
export interface RenderText {
  readonly text: string;
  readonly mode: "comment" | "file" | "markdown" | "wiki";
  /** The path that relative links begin at: `/owner/name`, with `/src/branch/…` for files. */
  readonly context: string;
  readonly filePath?: string;
  /** The language of a text that is code as a whole; the mode and the context do not count then. */
  readonly language?: string;
}

/**
 * Returns the fence of a code block of Markdown that the text cannot end: it is longer than every run of backticks in the text.
 */
export function toFence(text: string): string {
  let longest = 2;
  // One by one: a text may have more runs than a call may have arguments.
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return "`".repeat(longest + 1);
}

/** The dependencies and request of a page. */
export interface PageContext<Caller> {
  readonly request: ServerRequest;
  /** Undefined for an anonymous caller. */
  readonly session: Session<Caller> | undefined;
  /** The public address of the server, without a trailing slash. */
  readonly publicUrl: () => string;
  readonly instanceName: string;
  /** Calls an operation of the API as the caller of this page. */
  readonly call: CallOperation;
  /** Returns safe HTML, or undefined when the text cannot be rendered and is shown as plain text. */
  readonly render: (text: RenderText) => Promise<string | undefined>;
  /** The fields of a submitted form; empty for GET. */
  readonly form: URLSearchParams;
  /** The files of a submitted form, one by one while they arrive. Each must be consumed before the next one. */
  readonly files: AsyncIterable<FilePart>;
}

/** The response of a page. */
export type PageAnswer<Caller> =
  | {
      readonly kind: "page";
      readonly title: string;
      readonly body: ReactNode;
      readonly status?: number;
      /** The refusal that the page shows, which says when to try again. Those of operations need none. */
      readonly refusal?: AppError | undefined;
      /** Whether the page shows a secret, which no cache may keep. */
      readonly hasSecret?: boolean;
      /** Starts this session. */
      readonly session?: Session<Caller>;
      /** A cookie, as the header sets it, that is not that of a session. */
      readonly cookie?: string;
      /** The address to which a form of the page leads by a redirect, if it is not of this server. */
      readonly formLeadsTo?: URL;
    }
  | {
      /** Leaves for an address of another program. */
      readonly kind: "leave";
      readonly to: URL;
    }
  | {
      readonly kind: "redirect";
      /** A path of this server. */
      readonly to: string;
      /** Starts this session; null ends the current one. */
      readonly session?: Session<Caller> | null;
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
      /** Whether a page of this site may show the file in a frame. */
      readonly isFramed?: boolean;
    };

/** The parameters of a path: `/:owner/:repo/src/**:rest` has `owner`, `repo` and `rest`. */
export type PathParams<Path extends string> = { readonly [Name in NameIn<Path>]: string };

type NameIn<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Further}`
    ? Name | NameIn<`/${Further}`>
    : Rest extends `${infer Name}.${string}`
      ? Name
      : Rest
  : never;

/** A page with its address. */
export interface PageRoute<Caller> extends PageOptions {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly run: (
    context: PageContext<Caller>,
    params: Readonly<Record<string, string>>,
  ) => Promise<PageAnswer<Caller>>;
}

export interface PageOptions {
  /** Whether the page opens although the site sends the caller to another one first. */
  readonly skipsRequiredPage?: true;
  /** Whether the form may have files; its fields come before them. */
  readonly takesFiles?: true;
  /** Maximum bytes of a form without files, where it is larger than a comment. */
  readonly formBytesMax?: number;
  /** Whether the browser itself may send the form, for a file that another app shares. It has no token then. */
  readonly isShareTarget?: true;
}

type RunPage<Caller, Path extends string> = (
  context: PageContext<Caller>,
  params: PathParams<Path>,
) => Promise<PageAnswer<Caller>>;

/** Declares a page. `:name` in the path matches a segment and `**:rest` several. */
export function get<Caller, Path extends string>(
  path: Path,
  run: RunPage<Caller, Path>,
  options: PageOptions = {},
): PageRoute<Caller> {
  return toRoute("GET", path, run, options);
}

/** Declares the target of a form, whose path is as that of a page. Only forms of this site's pages reach it. */
export function post<Caller, Path extends string>(
  path: Path,
  run: RunPage<Caller, Path>,
  options: PageOptions = {},
): PageRoute<Caller> {
  return toRoute("POST", path, run, options);
}

function toRoute<Caller, Path extends string>(
  method: "GET" | "POST",
  path: Path,
  run: RunPage<Caller, Path>,
  options: PageOptions,
): PageRoute<Caller> {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  return {
    method,
    path,
    ...options,
    run: (context, params) => {
      // The router leaves out a `rest` without segments.
      const complete = Object.fromEntries(names.map((name) => [name, params[name] ?? ""]));
      return run(context, complete as PathParams<Path>);
    },
  };
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
