// The pages that people open in a browser: choosing a password, and returning from OAuth. Each page is one value with its
// HTML and its security headers. Start here, then reset-page.ts.
import { hash } from "node:crypto";

/** A page as it is sent. */
export interface Page {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The parts of a page. `body` is trusted HTML: its author must escape quoted text with `escapeHtml`. */
export interface PageParts {
  readonly title: string;
  readonly body: string;
  /** A script that runs when the document is parsed; it can access only the page. */
  readonly script?: string;
  /** `no-referrer` when absent. */
  readonly referrerPolicy?: "no-referrer" | "same-origin";
}

/**
 * Creates a page that loads no resources. Its content security policy allows its own style and script by hash, and
 * requests to its own origin only.
 */
export function createPage({
  title,
  body,
  script,
  referrerPolicy = "no-referrer",
}: PageParts): Page {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
${script === undefined ? "" : `<script type="module">${script}</script>\n`}</body>
</html>
`;
  return {
    html,
    headers: {
      ...HEADERS,
      "Referrer-Policy": referrerPolicy,
      "Content-Security-Policy": policyFor(script),
    },
  };
}

/** Escapes text for HTML, including attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-store",
  "Cross-Origin-Opener-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
} as const;

function policyFor(script: string | undefined): string {
  return [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}`,
    `script-src ${script === undefined ? "'none'" : hashOf(script)}`,
    "img-src data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");
}

function hashOf(source: string): string {
  return `'sha256-${hash("sha256", source, "base64")}'`;
}

const STYLE = `
:root { color-scheme: light dark; --text: #1b1f24; --quiet: #57606a; --back: #ffffff; --line: #8c959f; --act: #0757ae; --on-act: #ffffff; --bad: #b3131d; --good: #116329; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --quiet: #a3adb8; --back: #0d1117; --line: #7d8590; --act: #79b8ff; --on-act: #0d1117; --bad: #ff9a94; --good: #7ee787; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 1.5rem 1rem; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 26rem; margin: 8vh auto 0; }
h1 { font-size: 1.4rem; line-height: 1.25; margin: 0 0 1rem; }
label { display: block; font-weight: 600; margin-top: 1rem; }
label.check { display: flex; gap: .5rem; align-items: center; font-weight: 400; }
input[type="password"], input[type="text"] { width: 100%; margin-top: .25rem; padding: .55rem .65rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: .375rem; }
button { margin-top: 1.25rem; padding: .6rem 1.1rem; font: inherit; font-weight: 600; color: var(--on-act); background: var(--act); border: 0; border-radius: .375rem; cursor: pointer; }
button:disabled { opacity: .6; cursor: default; }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; }
ul { margin: .5rem 0 0; padding: 0; list-style: none; color: var(--quiet); }
li::before { content: "\\25CB\\00A0"; }
li[data-met="yes"] { color: var(--good); }
li[data-met="yes"]::before { content: "\\2713\\00A0"; }
[role="alert"] { margin: 1rem 0 0; color: var(--bad); font-weight: 600; }
[role="alert"]:empty { display: none; }
[role="status"] { color: var(--good); font-weight: 600; }
code { font: .95em ui-monospace, monospace; }
[hidden] { display: none; }
`;
