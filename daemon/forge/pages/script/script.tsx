// daemon/forge/pages/script: the one script of the forge's pages. Every page works without it. Start here; the files beside it have
// the parts of its text.
import { hash } from "node:crypto";
import type { SiteAsset } from "../../../pages/site.ts";
import { CODE } from "./code.ts";
import { FOLLOW } from "./follow.ts";
import { KEYS } from "./keys.ts";
import { TEXTS } from "./texts.ts";

const SCRIPT = [KEYS, TEXTS, CODE, FOLLOW].map((part) => `{\n${part}\n}\n`).join("");
const SCRIPT_PATH = `/assets/forge-${hash("sha256", SCRIPT, "hex").slice(0, 12)}.js`;
const SCRIPT_HASH = `sha256-${hash("sha256", SCRIPT, "base64")}`;

export const ASSETS: readonly SiteAsset[] = [
  {
    path: SCRIPT_PATH,
    contentType: "text/javascript; charset=utf-8",
    content: SCRIPT,
    isHashed: true,
  },
];

/** The policy names the script by its hash: no file of a repository or of an issue can run, although it has this origin. The script
 * asks this server for the rows of a log. */
export const POLICY: readonly string[] = [
  `script-src '${SCRIPT_HASH}'`,
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
];

export const HEAD = <script type="module" src={SCRIPT_PATH} integrity={SCRIPT_HASH} />;
