import { createPage, escapeHtml, type Page } from "./page.ts";

/** How an authorization ended, as far as the person in the browser should hear of it. */
export type OauthReturn =
  | { readonly kind: "connected"; readonly providerName: string; readonly displayName: string }
  | { readonly kind: "declined"; readonly providerName: string }
  | { readonly kind: "expired"; readonly providerName: string }
  | { readonly kind: "failed"; readonly providerName: string };

/** The page that a cloud provider sends the browser back to. It says what to do next and nothing else. */
export function createOauthReturnPage(outcome: OauthReturn): Page {
  const { heading, next } = words(outcome);
  return createPage({
    title: heading,
    body: `<h1>${escapeHtml(heading)}</h1>\n<p>${escapeHtml(next)}</p>`,
  });
}

function words(outcome: OauthReturn): { readonly heading: string; readonly next: string } {
  const { providerName } = outcome;
  switch (outcome.kind) {
    case "connected":
      return {
        heading: `${providerName} is connected`,
        next: `"${outcome.displayName}" is ready. You can close this window and go back to croft.`,
      };
    case "declined":
      return {
        heading: `${providerName} is not connected`,
        next: "Access was not granted. Close this window, and begin again in croft if you want to connect it.",
      };
    case "expired":
      return {
        heading: `${providerName} is not connected`,
        next: "This sign-in took too long or was used already. Close this window and begin again in croft.",
      };
    case "failed":
      return {
        heading: `${providerName} is not connected`,
        next: "The provider did not answer as expected. Close this window and try again in croft in a moment.",
      };
  }
}
