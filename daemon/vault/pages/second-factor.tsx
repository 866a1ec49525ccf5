import { renderSVG } from "uqr";
import { Alert } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { Hidden } from "./elements.tsx";
import { ACCOUNT } from "./addresses.ts";
import type { SignedInContext, VaultPageAnswer } from "./vault-page.ts";

/** The secret of a second factor that waits for its first code. */
interface TotpSetup {
  readonly secret: string;
  readonly provisioning_uri: string;
}

/** The page with the QR code for the app, which asks for the first code. */
export function showTotpSetup(
  { session }: SignedInContext,
  { secret, provisioning_uri: uri }: TotpSetup,
  failed?: string,
): VaultPageAnswer {
  const picture = Buffer.from(renderSVG(uri)).toString("base64");
  return {
    kind: "page",
    title: "Second factor",
    status: failed === undefined ? 200 : 422,
    body: (
      <>
        <h1>Set up the second factor</h1>
        <Alert text={failed} />
        <p>Scan this with the app on your phone, then enter the code that it shows.</p>
        <img
          className="qr"
          src={`data:image/svg+xml;base64,${picture}`}
          alt="QR code with the secret"
          width={240}
          height={240}
        />
        <p>
          Or enter the secret: <code>{secret}</code>
        </p>
        <Form action={ACCOUNT} token={session.formToken} className="stack">
          <Hidden
            fields={[
              ["secret", secret],
              ["uri", uri],
            ]}
          />
          <label>
            Code
            <input
              name="code"
              required
              inputMode="numeric"
              maxLength={7}
              autoComplete="one-time-code"
            />
          </label>
          <div>
            <button name="action" value="totp-on" className="primary">
              Turn it on
            </button>{" "}
            <a href={ACCOUNT}>Cancel</a>
          </div>
        </Form>
      </>
    ),
  };
}

/** The page with the recovery codes, which are shown once. */
export function showBackupCodes(codes: readonly string[]): VaultPageAnswer {
  return {
    kind: "page",
    title: "Recovery codes",
    body: (
      <>
        <h1>The second factor is on</h1>
        <p>
          Keep these recovery codes in a safe place. Each signs you in once when you do not have
          your phone. They are not shown again.
        </p>
        <pre tabIndex={0}>{codes.join("\n")}</pre>
        <p>
          <a href={ACCOUNT}>Back to the account</a>
        </p>
      </>
    ),
  };
}

/** The page with a new token for scripts, which is shown once. */
export function showSecret(secret: string): VaultPageAnswer {
  return {
    kind: "page",
    title: "New token",
    body: (
      <>
        <h1>New token</h1>
        <p>Copy it now: it is not shown again.</p>
        <pre tabIndex={0}>{secret}</pre>
        <p>
          <a href={ACCOUNT}>Back to the account</a>
        </p>
      </>
    ),
  };
}
