import { assertNever } from "../../errors.ts";
import type { AuthorizationResult } from "./authorization.service.ts";

export function toStartReply({
  url,
  expiresAt,
}: {
  readonly url: string;
  readonly expiresAt: number;
}) {
  return {
    status: 200,
    body: { authorization_url: url, expires_at: new Date(expiresAt).toISOString() },
  } as const;
}

/** The page that ends a sign-in: what happened, and what to do next. No script, nothing from elsewhere. */
export function toCallbackReply(result: AuthorizationResult) {
  const { title, text } = textsOf(result);
  return {
    status: result.kind === "connected" ? 200 : 400,
    body: page(title, text),
    headers: {
      "Content-Security-Policy":
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      "Referrer-Policy": "no-referrer",
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
    },
  } as const;
}

function textsOf(result: AuthorizationResult): { readonly title: string; readonly text: string } {
  switch (result.kind) {
    case "connected":
      return {
        title: "Connected",
        text: `${result.displayName} is connected to the account ${result.handle}. You can close this page and go on where you began.`,
      };
    case "expired":
      return {
        title: "This sign-in is no longer good",
        text: "It was used already or took longer than ten minutes. Begin again where you came from.",
      };
    case "refused":
      return {
        title: "Not connected",
        text: "The storage did not give its consent. Begin again if that was not what you wanted.",
      };
    case "failed":
      return {
        title: "Not connected",
        text: "The storage could not be reached or answered with an error. Try again in a moment.",
      };
    default:
      return assertNever(result);
  }
}

function page(title: string, text: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem}</style>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
