import type { PageAnswer } from "./page.ts";

const titles: Readonly<Record<number, string>> = {
  400: "Bad request",
  403: "Not allowed",
  404: "Not found",
  413: "Too large",
  422: "Not accepted",
  423: "Archived",
  429: "Too many requests",
  500: "Internal server error",
  503: "Busy",
};

/** Renders a refusal as a page. Hidden resources are not found, like missing ones. */
export function toErrorPage(
  status: number,
  message: string | undefined,
  /** The page on which an anonymous caller signs in. */
  signInPath: string | undefined,
): Extract<PageAnswer<never>, { kind: "page" }> {
  const title = titles[status] ?? `Error ${status}`;
  const isMissing = status === 404;
  return {
    kind: "page",
    title,
    status,
    body: (
      <>
        <h1>{title}</h1>
        <p role="alert">
          {isMissing
            ? "There is no such page, or you may not see it."
            : (message ?? "The server failed. Its log has the details.")}
        </p>
        {isMissing && signInPath !== undefined ? (
          <p>
            <a href={signInPath}>Sign in</a> to see private pages.
          </p>
        ) : null}
      </>
    ),
  };
}
