import { createOauthReturnPage, type OauthReturn } from "../../pages/oauth-return-page.ts";

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

/** The page that ends a sign-in. No script, nothing from elsewhere, and nothing of what the address said. */
export function toCallbackReply(result: OauthReturn) {
  const { html, headers } = createOauthReturnPage(result);
  return { status: result.kind === "connected" ? 200 : 400, body: html, headers } as const;
}
