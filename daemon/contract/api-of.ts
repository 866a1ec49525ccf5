/**
 * The surfaces of the daemon: the two APIs, the six protocols of the forge that have their own addresses and
 * error bodies, and the vault's API for the scripts of its pages.
 */
export type Surface =
  | "forge"
  | "packages"
  | "git"
  | "large_files"
  | "containers"
  | "oauth"
  | "artifacts"
  | "vault"
  | "vault_pages";

/** Address below which the scripts of the vault's pages reach its API with the session of the browser. */
export const VAULT_PAGES = "/vault";

/** The page on which an invited person chooses the password of the accounts of both APIs. */
export const INVITATION_PAGE = "/-/invitation";

/** Address below which the artifact service of jobs is. The toolkit of actions fixes it, at the root of the server. */
export const ARTIFACT_SERVICE = "/twirp/github.actions.results.api.v1.ArtifactService";

/**
 * Returns the surface that serves `path`, or undefined when none does. The vault serves everything below `/api/` that
 * is not the forge's, and the start page of sign-ins at vendors. Forge addresses may repeat slashes.
 * @param path the path of a request or of an endpoint, without its query
 */
export function surfaceOf(path: string): Surface | undefined {
  const collapsed = collapseSlashes(path);
  if (/^\/(?:api\/v1(?:\/|$)|avatars\/|attachments\/|assets\/img\/emoji\/)/.test(collapsed))
    return "forge";
  if (collapsed.startsWith("/api/packages/")) return "packages";
  if (/^\/v2(?:\/|$)/.test(path)) return "containers";
  if (isOauth(path)) return "oauth";
  if (isRunnerProtocol(path)) return "forge";
  if (/^\/(?:twirp|api\/actions_pipeline)\//.test(path)) return "artifacts";
  if (path.startsWith("/api/") || path.startsWith("/oauth/start/") || isLink(path)) return "vault";
  if (path.startsWith(`${VAULT_PAGES}/api/`)) return "vault_pages";
  if (/^\/[^/]+\/[^/]+\/(?:info\/refs|git-upload-pack|git-receive-pack)$/.test(collapsed))
    return "git";
  if (/^\/[^/]+\/[^/]+\/info\/lfs\//.test(collapsed)) return "large_files";
  if (isReleaseDownload(collapsed)) return "forge";
  return undefined;
}

/** Returns whether a path is one of the provider of OAuth 2 that programs call; `/login/oauth/authorize` is a page. */
const isOauth = (path: string): boolean =>
  /^\/(?:login\/oauth\/(?:access_token|userinfo|keys)|\.well-known\/openid-configuration)$/.test(
    path,
  );

/** Returns whether a path is the address of a file of a release, which lies below the page of its repository. */
export function isReleaseDownload(path: string): boolean {
  return /^\/[^/]+\/[^/]+\/releases\/download\//.test(path);
}

/**
 * Returns whether a path is that of a link of the vault. Its secret has 32 characters, so that an older account of the forge
 * that is called `s` or `r` keeps its pages.
 */
function isLink(path: string): boolean {
  return /^\/(?:s|r)\/(?::secret|[\w-]{32})(?:\/(?:download|preview|unlock))?$/.test(path);
}

/**
 * Returns whether a request is one to the WebDAV server of the vault, `/dav`. Git and pages of browsers are not: an older
 * account of the forge that is called `dav` keeps them.
 */
export function isDav(
  path: string,
  {
    method = "",
    url = "",
    headers,
  }: {
    readonly method?: string | undefined;
    readonly url?: string | undefined;
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  },
): boolean {
  if (path !== "/dav" && !path.startsWith("/dav/")) return false;
  if (method === "POST") return false;
  if (method !== "GET" && method !== "HEAD") return true;
  const accept = String(headers["accept"] ?? "");
  if (headers["authorization"] === undefined && accept.includes("text/html")) return false;
  return !/\/info\/refs\?service=git-/.test(url) && !accept.includes("git-lfs");
}

/** Returns whether a path belongs to the protocol of runners, which is the forge's and declares no endpoints. */
export function isRunnerProtocol(path: string): boolean {
  return /^\/api\/actions(?:\/|$)/.test(collapseSlashes(path));
}

/** Returns the API that documents an operation: packages, containers, git and artifacts are part of the forge. */
export function apiOf(declared: { readonly path: string }): "forge" | "vault" {
  return surfaceOf(declared.path) === "vault" ? "vault" : "forge";
}

/** Returns `path` with every run of slashes replaced by one. */
export function collapseSlashes(path: string): string {
  return path.includes("//") ? path.replace(/\/{2,}/g, "/") : path;
}
