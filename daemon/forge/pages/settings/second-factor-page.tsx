import { twoFactorEndpoints } from "../../../contract/forge/accounts/two-factor.ts";
import type { ForgePageRoute } from "../forge-page.ts";
import { ActionForm, DeleteEntry, readText } from "./settings-form.tsx";
import { settingsPage, type SettingsPlace, type View } from "./settings-page.tsx";

/** Longest address of a secret: a QR code holds no more. */
const ADDRESS_MAX = 1_000;

/** The second factor of the signed-in account. */
export function secondFactorPage(place: SettingsPlace<string>): ForgePageRoute[] {
  return settingsPage(place, {
    at: "security",
    title: "Second factor",
    async show(view) {
      const { body } = await view.call(twoFactorEndpoints.getTwoFactor);
      if (body.enabled)
        return (
          <>
            <p className="success">The second factor is on.</p>
            <DeleteEntry
              view={view}
              hidden={{}}
              name="Turn it off"
              action="disable"
              submit="Turn the second factor off"
            />
          </>
        );
      // A wrong code shows the same secret again.
      const address = view.sent?.get("address") ?? "";
      return isProvisioning(address) ? (
        <Setup view={view} address={address} picture={await draw(address)} />
      ) : (
        <>
          <p>The sign-in with the password needs a code of an authenticator app as well.</p>
          <ActionForm view={view} action="start" submit="Set it up" tone="primary" />
        </>
      );
    },
    actions: {
      async start(request) {
        const { body } = await request.call(twoFactorEndpoints.startTwoFactor);
        const address = body.otpauth_url;
        const view = {
          ...request,
          opened: undefined,
          home: `${place.base}/security`,
          sent: undefined,
          offers: () => true,
        };
        const picture = await draw(address);
        return {
          page: {
            title: "Second factor",
            body: (
              <>
                <h1>Set up the second factor</h1>
                <Setup view={view} address={address} picture={picture} />
              </>
            ),
          },
        };
      },
      async confirm(request) {
        const body = { code: readText(request, "code") };
        await request.call(twoFactorEndpoints.confirmTwoFactor, { body });
      },
      async disable({ call }) {
        await call(twoFactorEndpoints.disableTwoFactor);
      },
    },
  });
}

const isProvisioning = (address: string) =>
  address.startsWith("otpauth://totp/") && address.length <= ADDRESS_MAX && URL.canParse(address);

/** Draws a QR code as the address of a picture. The library is loaded at the first one. */
async function draw(address: string): Promise<string> {
  const { renderSVG } = await import("uqr");
  return `data:image/svg+xml;base64,${Buffer.from(renderSVG(address)).toString("base64")}`;
}

function Setup({ view, address, picture }: { view: View; address: string; picture: string }) {
  return (
    <>
      <p>Scan this with the app on your phone, then enter the code that it shows.</p>
      <img className="qr" src={picture} alt="QR code with the secret" width={240} height={240} />
      <p>
        Or enter the secret: <code>{new URL(address).searchParams.get("secret")}</code>
      </p>
      <ActionForm
        view={view}
        action="confirm"
        submit="Turn it on"
        tone="primary"
        hidden={{ address }}
        fields={{ code: { label: "Code", max: 7 } }}
      />
    </>
  );
}
