import { hash } from "node:crypto";
import type { ReactNode } from "react";
import type { SiteAsset } from "../../pages/site.ts";
import { ICON_PATH } from "../../pages/style.ts";
import { SHARE_TARGET } from "./add-page.tsx";
import { HOME } from "./addresses.ts";
import { KEYS } from "./script/keys.ts";
import { UPLOADS } from "./script/uploads.ts";
import type { VaultPageSession } from "./vault-page.ts";

const SCRIPT = KEYS + UPLOADS;
const SCRIPT_PATH = `${HOME}/script-${hash("sha256", SCRIPT, "hex").slice(0, 12)}.js`;
const MANIFEST_PATH = `${HOME}/manifest.webmanifest`;

/** Lets a phone install the vault, and share files into it from other apps. Addresses are relative: a proxy may add a path. */
const MANIFEST = JSON.stringify({
  name: "croft vault",
  short_name: "vault",
  start_url: ".",
  scope: ".",
  display: "standalone",
  icons: [{ src: `..${ICON_PATH}`, sizes: "any", type: "image/svg+xml" }],
  share_target: {
    action: `.${SHARE_TARGET.slice(HOME.length)}`,
    method: "POST",
    enctype: "multipart/form-data",
    params: { files: [{ name: "file", accept: ["*/*"] }] },
  },
});

/** The script of the pages, and the web manifest. */
export const ASSETS: readonly SiteAsset[] = [
  {
    path: SCRIPT_PATH,
    contentType: "text/javascript; charset=utf-8",
    content: SCRIPT,
    isHashed: true,
  },
  {
    path: MANIFEST_PATH,
    contentType: "application/manifest+json",
    content: MANIFEST,
    isHashed: false,
  },
];

/** The elements of the head: the script, and what it needs to know of the session. */
export function toHead(session: VaultPageSession | undefined): ReactNode {
  return (
    <>
      <link rel="manifest" href={MANIFEST_PATH} crossOrigin="use-credentials" />
      {session === undefined ? null : (
        <>
          <meta name="form-token" content={session.formToken} />
          <meta name="account" content={session.caller.userId} />
        </>
      )}
      <script type="module" src={SCRIPT_PATH} />
    </>
  );
}
