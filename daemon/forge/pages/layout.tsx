import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { Form } from "./elements.tsx";
import { type PageContext, toPath } from "./page.ts";
import type { ForgeUrls } from "../urls.ts";
import { ICON_PATH, STYLE_PATH } from "./style.ts";

/** The HTML of a page. Its addresses begin with the path of the public URL. */
export function toDocument(
  { session, viewer, request, instanceName, urls }: Omit<PageContext, "call" | "render" | "form">,
  { title, body }: { readonly title: string; readonly body: ReactNode },
): string {
  const back = request.target.startsWith("/user/") ? "/" : request.target;
  const page = (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>{`${title} · ${instanceName}`}</title>
        <link rel="stylesheet" href={STYLE_PATH} />
        <link rel="icon" type="image/svg+xml" href={ICON_PATH} />
      </head>
      <body>
        <a className="skip" href="#content">
          Skip to the content
        </a>
        <header>
          <a className="home" href="/">
            {instanceName}
          </a>
          <nav aria-label="Account">
            {viewer === undefined || session === undefined ? (
              <a href={`/user/login?redirect_to=${encodeURIComponent(back)}`}>Sign in</a>
            ) : (
              <>
                <a href="/notifications">Notifications</a>
                <a href={toPath(viewer.name)}>{viewer.name}</a>
                <a href="/user/settings/change_password">Password</a>
                <Form action="/user/logout" token={session.formToken} className="inline">
                  <button type="submit" className="link">
                    Sign out
                  </button>
                </Form>
              </>
            )}
          </nav>
        </header>
        <main id="content">{body}</main>
      </body>
    </html>
  );
  const markup = renderToStaticMarkup(page).replace(CONTROL, toVisible);
  return `<!doctype html>\n${withBasePath(markup, toBasePath(urls))}`;
}

/** Returns the path of the public URL, which a proxy removes from the requests that it forwards; empty without one. */
export function toBasePath(urls: ForgeUrls): string {
  return new URL(urls.publicUrl()).pathname.replace(/\/$/, "");
}

/** Prepends the path to all addresses of this server. Text cannot match, because its quotation marks are escaped. */
function withBasePath(markup: string, basePath: string): string {
  if (basePath === "") return markup;
  return markup.replace(/( (?:href|src|action)=")(?=\/(?!\/))/g, `$1${basePath}`);
}

/**
 * Control characters other than white space, and characters that change the direction of text. HTML cannot represent
 * the former, and a terminal would execute them; the latter show code in another order than it runs (CVE-2021-42574).
 */
const CONTROL = /(?![\t\n\r])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;
/** The Unicode block of pictures of the control characters below U+0020: ␛ for escape. */
const CONTROL_PICTURES = 0x2400;

function toVisible(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x20 ? String.fromCharCode(CONTROL_PICTURES + code) : "\ufffd";
}
