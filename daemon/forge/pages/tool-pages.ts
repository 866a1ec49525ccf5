import { userEndpoints } from "../../contract/forge/accounts/users.ts";
import type { ServerRequest } from "../../http/handle.ts";
import type { PublicKeys } from "../accounts/keys.service.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";
import { get } from "../../pages/page.ts";
import { type ForgePageContext, type ForgePageRoute, type ForgePageAnswer } from "./forge-page.ts";

interface AccountParams {
  readonly username: string;
}

/** The keys of a user as plain text, at the addresses that tools such as `ssh-import-id` read. */
export function keyPages(keys: Pick<PublicKeys, "listLines">): ForgePageRoute[] {
  const showKeys = async ({ call }: ForgePageContext, { username }: AccountParams) => {
    // The API authorizes the caller to see the user.
    await call(userEndpoints.getUser, { params: { username } });
    const lines = await keys.listLines(username);
    return toText(lines.map((line) => `${line}\n`).join(""));
  };
  return [get("/:username.keys", showKeys), get("/:username.gpg", showNoGpgKeys)];
}

async function showNoGpgKeys({ call }: ForgePageContext, { username }: AccountParams) {
  await call(userEndpoints.getUser, { params: { username } });
  return toText(NO_GPG_KEYS);
}

const toText = (text: string) =>
  ({ kind: "text", contentType: "text/plain; charset=utf-8", text }) as const;

/** A key block without keys (RFC 9580, 6.2), as Gitea sends it. */
const NO_GPG_KEYS = `-----BEGIN PGP PUBLIC KEY BLOCK-----
Note: This user hasn't uploaded any GPG keys.


=twTO
-----END PGP PUBLIC KEY BLOCK-----
`;

/** Pattern of the names of accounts and repositories. */
const NAME = /^[\w.-]{1,255}$/;

/**
 * Answers the request of the go command for the repository of an import path. The go command sends no credentials, so
 * the response is the same for every well-formed name and does not reveal whether a repository exists. Git then
 * authenticates itself. Returns undefined for any other request.
 */
export function answerGoCommand(
  { method, query }: Pick<ServerRequest, "method" | "query">,
  path: string,
  urls: ForgeUrls,
): ForgePageAnswer | undefined {
  if (method !== "GET" || query.get("go-get") !== "1") return undefined;
  const [, owner = "", name = ""] = path.split("/");
  const repository = name.replace(/\.git$/, "");
  if (!NAME.test(owner) || !NAME.test(repository)) return undefined;
  const address = `/${owner}/${repository}`;
  const modulePath = toUrl(urls, address).replace(/^https?:\/\//, "");
  const meta = `<meta name="go-import" content="${modulePath} git ${toUrl(urls, address)}.git">`;
  return {
    kind: "text",
    contentType: "text/html; charset=utf-8",
    text: `<!doctype html>\n<html><head>${meta}</head><body>go get ${modulePath}</body></html>\n`,
  };
}
