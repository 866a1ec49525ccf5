import type { ReactNode } from "react";
import { Now } from "./elements.tsx";
import { ICON_PATH, STYLE_PATH } from "./style.ts";

/** The parts of a page of a site. */
export interface DocumentParts {
  readonly title: string;
  readonly body: ReactNode;
  /** The navigation about the account. */
  readonly header: ReactNode;
  readonly instanceName: string;
  readonly publicUrl: () => string;
  /** The first page of the site. */
  readonly homePath?: string | undefined;
  /** Further elements of the head. */
  readonly head?: ReactNode;
  /** The appearance that the person has chosen; undefined for that of the browser. */
  readonly theme?: "light" | "dark" | undefined;
  /** Epoch milliseconds; times of the page are shown in relation to it. */
  readonly now: number;
}

/** Returns the HTML of a page. Its addresses begin with the path of the public URL. */
export async function renderDocument({
  title,
  body,
  header,
  instanceName,
  publicUrl,
  homePath = "/",
  head,
  theme,
  now,
}: DocumentParts): Promise<string> {
  const markup = await renderMarkup(
    <html lang="en" data-theme={theme}>
      <Head title={`${title} · ${instanceName}`} theme={theme}>
        <link rel="stylesheet" href={STYLE_PATH} />
        <link rel="icon" type="image/svg+xml" href={ICON_PATH} />
        {head}
      </Head>
      <body>
        <a className="skip" href="#content">
          Skip to the content
        </a>
        <header>
          <a className="home" href={homePath}>
            {instanceName}
          </a>
          <nav aria-label="Account">{header}</nav>
        </header>
        <main id="content">
          <Now value={now}>{body}</Now>
        </main>
      </body>
    </html>,
  );
  return withBasePath(markup, toBasePath(publicUrl));
}

/** The head that every page has. */
export function Head({
  title,
  theme,
  children,
}: {
  title: string;
  theme?: DocumentParts["theme"];
  children: ReactNode;
}) {
  return (
    <head>
      <meta charSet="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content={theme ?? "light dark"} />
      <meta name="robots" content="noindex" />
      <title>{title}</title>
      {children}
    </head>
  );
}

/** Renders a whole document, in which characters that deceive are visible. */
export async function renderMarkup(document: ReactNode): Promise<string> {
  // Loaded with the first page: the daemon starts without it.
  const { renderToStaticMarkup } = await import("react-dom/server");
  return `<!doctype html>\n${renderToStaticMarkup(document).replace(CONTROL, toVisible)}`;
}

/** Returns the path of the public URL, which a proxy removes from the requests that it forwards; empty without one. */
export function toBasePath(publicUrl: () => string): string {
  return new URL(publicUrl()).pathname.replace(/\/$/, "");
}

/** Prepends the path to all addresses of this server. Text cannot match, because its quotation marks are escaped. */
function withBasePath(markup: string, basePath: string): string {
  if (basePath === "") return markup;
  return markup.replace(
    /( (?:href|src|(?:form)?action|data-follow)=")(?=\/(?!\/))/g,
    `$1${basePath}`,
  );
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
