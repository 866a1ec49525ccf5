import { createPage, escapeHtml, type Page } from "./page.ts";

/** How a sign-in at a provider's page ended, as far as the person in the browser should hear of it. */
export type OauthReturn =
  | {
      readonly kind: "connected";
      readonly providerName: string;
      readonly displayName: string;
      /** The account of this server that has the storage now: whoever began the sign-in, and not who finished it. */
      readonly handle: string;
    }
  | {
      /** `declined`: the person said no, or left out what is needed. `other_account`: of another person's storage. */
      readonly kind: "declined" | "expired" | "failed" | "other_account";
      readonly providerName: string;
    };

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
  const isNot = `${providerName} is not connected`;
  switch (outcome.kind) {
    case "connected":
      return {
        heading: `${providerName} is connected`,
        next:
          `"${outcome.displayName}" belongs to the croft account ${outcome.handle} now. You can close this window and go back ` +
          `to croft. Is that not your account? Then take croft's access away again at ${providerName}.`,
      };
    case "declined":
      return {
        heading: isNot,
        next: "Access was not granted. Close this window, and begin again in croft if you want to connect it.",
      };
    case "expired":
      return {
        heading: isNot,
        next: "This sign-in took too long or was used already. Close this window and begin again in croft.",
      };
    case "other_account":
      return {
        heading: isNot,
        next: `You signed in with another ${providerName} account than the one that this connection is for. Close this window and begin again in croft: with the same account, or with a new connection.`,
      };
    case "failed":
      return {
        heading: isNot,
        next: "The provider did not answer as expected. Close this window and try again in croft in a moment.",
      };
  }
}
