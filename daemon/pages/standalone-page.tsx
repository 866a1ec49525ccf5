import { hash } from "node:crypto";
import type { ReactNode } from "react";
import { Head, renderMarkup } from "./document.tsx";
import { STYLE } from "./style.ts";

/** A page as it is sent. */
export interface StandalonePage {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface StandaloneParts {
  readonly title: string;
  readonly body: ReactNode;
  /** A script that runs when the document is parsed; it can access only the page. */
  readonly script?: string;
  /** `no-referrer` when absent. */
  readonly referrerPolicy?: "no-referrer" | "same-origin";
  /** The page shows pictures, sound or films of this server. */
  readonly hasMedia?: boolean;
}

/**
 * Creates a page of its own: it loads no resources, so it works below any address, and needs no session. Its content
 * security policy allows its own style and script by hash, and requests to its own origin only.
 */
export async function createStandalonePage({
  title,
  body,
  script,
  referrerPolicy = "no-referrer",
  hasMedia = false,
}: StandaloneParts): Promise<StandalonePage> {
  const html = await renderMarkup(
    <html lang="en">
      <Head title={title}>
        <link rel="icon" href="data:," />
        {/* Texts of the program, which the policy names by their hashes. */}
        <style dangerouslySetInnerHTML={{ __html: STYLE }} />
      </Head>
      <body>
        <main className="narrow">{body}</main>
        {script === undefined ? null : (
          <script type="module" dangerouslySetInnerHTML={{ __html: script }} />
        )}
      </body>
    </html>,
  );
  return {
    html,
    headers: {
      ...HEADERS,
      "Referrer-Policy": referrerPolicy,
      "Content-Security-Policy": policyFor(script, hasMedia),
    },
  };
}

const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-store",
  "Cross-Origin-Opener-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
} as const;

function policyFor(script: string | undefined, hasMedia: boolean): string {
  return [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}`,
    `script-src ${script === undefined ? "'none'" : hashOf(script)}`,
    ...(hasMedia ? ["img-src 'self' data:", "media-src 'self'"] : ["img-src data:"]),
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
