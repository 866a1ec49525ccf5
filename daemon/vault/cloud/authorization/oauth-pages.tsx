import { createStandalonePage, type StandalonePage } from "../../../pages/standalone-page.tsx";

/** A sign-in with working credentials that waits for the user's confirmation. */
export interface OauthConfirm {
  readonly kind: "confirm";
  readonly providerName: string;
  /** The vendor's account: its address or name, else its id. */
  readonly vendorAccount: string;
  readonly displayName: string;
  /** The account of this server that will own the connection. */
  readonly handle: string;
  /** Whether an existing connection gets new credentials. */
  readonly isReconnect: boolean;
  readonly state: string;
  /** One-time token of the confirmation. */
  readonly token: string;
  /** The tested credentials, sealed. */
  readonly grant: string;
}

/** The result of a sign-in at a vendor's page, as the browser shows it. */
export type OauthEnd =
  | {
      readonly kind: "connected";
      readonly providerName: string;
      readonly displayName: string;
      /** The account of this server that owns the connection now. */
      readonly handle: string;
    }
  | {
      /**
       * `declined`: the user declined or withheld a permission. `other_account`: the user signed in to another account at
       * the vendor. `other_browser`: the start page was opened in another browser.
       */
      readonly kind: "declined" | "expired" | "failed" | "other_account" | "other_browser";
      readonly providerName: string;
    };

export type OauthOutcome = OauthConfirm | OauthEnd;

/** Creates the confirmation page, which names both accounts and connects with its button. */
export async function createOauthConfirmPage(confirm: OauthConfirm): Promise<StandalonePage> {
  const { providerName, vendorAccount, displayName, handle, isReconnect } = confirm;
  const heading = `Connect ${providerName}?`;
  const hidden = ["state", "token", "grant"] as const;
  return createStandalonePage({
    title: heading,
    // Browsers send the form of a page without a referrer with the origin "null", which the daemon refuses.
    referrerPolicy: "same-origin",
    body: (
      <>
        <h1>{heading}</h1>
        <p>
          The {providerName} account
          {vendorAccount === "" ? null : (
            <>
              {" "}
              <strong>{vendorAccount}</strong>
            </>
          )}{" "}
          is about to be connected {isReconnect ? "again " : ""}to the croft account{" "}
          <strong>{handle}</strong>
          {isReconnect ? null : (
            <>
              , as <strong>{displayName}</strong>
            </>
          )}
          .
        </p>
        <p>
          Everyone who signs in to <strong>{handle}</strong> can then read, change and delete the
          files of this storage. Connect only if both accounts are yours. Otherwise close this
          window: nothing is stored.
        </p>
        <form method="post" action="callback" encType="multipart/form-data">
          {hidden.map((name) => (
            <input key={name} type="hidden" name={name} value={confirm[name]} />
          ))}
          <button type="submit" className="primary">
            Connect
          </button>
        </form>
      </>
    ),
  });
}

/** Creates the final page of a sign-in, which states the next step. */
export async function createOauthPage(outcome: OauthEnd): Promise<StandalonePage> {
  const { heading, next } = toWords(outcome);
  return createStandalonePage({
    title: heading,
    body: (
      <>
        <h1>{heading}</h1>
        <p>{next}</p>
      </>
    ),
  });
}

function toWords(outcome: OauthEnd): { readonly heading: string; readonly next: string } {
  const { providerName } = outcome;
  const notConnected = `${providerName} is not connected`;
  switch (outcome.kind) {
    case "connected":
      return {
        heading: `${providerName} is connected`,
        next: `"${outcome.displayName}" belongs to the croft account ${outcome.handle} now. You can close this window and go back to croft.`,
      };
    case "declined":
      return {
        heading: notConnected,
        next: "Access was not granted. Close this window, and begin again in croft if you want to connect it.",
      };
    case "expired":
      return {
        heading: notConnected,
        next: "This sign-in took too long or was used already. Close this window and begin again in croft.",
      };
    case "other_browser":
      return {
        heading: notConnected,
        next: "This sign-in was started in another browser, or this browser refuses cookies. Close this window, begin again in croft, and open the address that it gives you here. If someone sent you this address, stop here.",
      };
    case "other_account":
      return {
        heading: notConnected,
        next: `You signed in with another ${providerName} account than the one that this connection is for. Close this window and begin again in croft: with the same account, or with a new connection.`,
      };
    case "failed":
      return {
        heading: notConnected,
        next: "The provider did not answer as expected. Close this window and try again in croft in a moment.",
      };
  }
}
