import { createOauthConfirmPage, createOauthPage, type OauthOutcome } from "./oauth-pages.tsx";
import type { BoundSignIn } from "./authorization.service.ts";

export function toStartView({
  url,
  expiresAt,
}: {
  readonly url: string;
  readonly expiresAt: number;
}) {
  return { authorization_url: url, expires_at: new Date(expiresAt).toISOString() };
}

/** The redirect to the vendor with the cookie that binds the sign-in to this browser. */
export async function toOpenedReply(bound: BoundSignIn | undefined) {
  if (bound === undefined) {
    const page = await createOauthPage({ kind: "expired", providerName: "Your storage" });
    return { status: 400, body: page.html, headers: page.headers } as const;
  }
  const { name, value, path, isSecure, maxAgeSeconds } = bound.cookie;
  const cookie = `${name}=${value}; Max-Age=${maxAgeSeconds}; Path=${path}; HttpOnly; SameSite=Lax`;
  const headers = {
    Location: bound.vendorUrl,
    "Set-Cookie": isSecure ? `${cookie}; Secure` : cookie,
    "Referrer-Policy": "no-referrer",
  };
  return { status: 302, headers } as const;
}

/** The final page of a sign-in, or the one with the button that connects. It shows nothing from the address. */
export async function toCallbackReply(outcome: OauthOutcome) {
  const isGood = outcome.kind === "connected" || outcome.kind === "confirm";
  const page = await (outcome.kind === "confirm"
    ? createOauthConfirmPage(outcome)
    : createOauthPage(outcome));
  return { status: isGood ? 200 : 400, body: page.html, headers: page.headers } as const;
}
