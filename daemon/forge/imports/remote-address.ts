import { z } from "zod";
import type { SealAgain, Sealer } from "../../../storage/keys/keyring.ts";
import type { MirrorId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { AppError } from "../../errors.ts";
import type { GitRemote } from "../../outbound/git-gateway.ts";

/** What a person gives to sign in at another server. Texts are empty when they are absent. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
  readonly token: string;
}

const credentialsSchema = z.object({
  username: z.string(),
  password: z.string(),
  token: z.string(),
});

/** Maximum length of an address and of each part of credentials, in characters. */
const CHARACTERS_MAX = 2048;

/**
 * Reads the address of a repository on another server. Credentials in it become those of the request, where the request has
 * none. Refuses with `code` everything but http and https: paths of this machine, and protocols of git that would
 * start programs or pass the policy for addresses.
 */
export function readRemoteAddress(
  given: string,
  credentials: Credentials,
  code: "unprocessable" | "invalid_argument" = "unprocessable",
): { readonly address: string; readonly credentials: Credentials } {
  const text = given.trim();
  const refusal = (message: string) => new AppError(code, message);
  if (/^(?:[/.~\\]|[a-z]:[\\/]|file:)/i.test(text))
    throw refusal("paths on this server cannot be imported: give an http or https address");
  if (text.length > CHARACTERS_MAX || !URL.canParse(text))
    throw refusal("the address is not a URL: give an http or https address");
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol))
    throw refusal(
      `addresses of ${url.protocol.slice(0, 20)} are not supported: give an http or https address`,
    );
  // A control character would end a header.
  // oxlint-disable-next-line no-control-regex -- the pattern refuses control characters
  if (Object.values(credentials).some((each) => /[\u0000-\u001f]/.test(each)))
    throw refusal("the credentials have a control character");
  if (Object.values(credentials).some((each) => each.length > CHARACTERS_MAX))
    throw refusal("the credentials are too long");
  const inUrl = { username: decode(url.username), password: decode(url.password) };
  const hasOwn = credentials.username !== "" || credentials.password !== "";
  url.username = "";
  url.password = "";
  url.hash = "";
  url.search = "";
  return {
    address: url.href.replace(/\/+$/, ""),
    credentials: hasOwn ? credentials : { ...credentials, ...inUrl },
  };
}

/** Returns how git signs in: by name and password, or by a token in the place of the password. */
export function toGitRemote(
  address: string,
  { username, password, token }: Credentials,
): GitRemote {
  if (token === "") return { url: address, username, password };
  // Servers ignore the name beside a token, but some of them want one.
  return { url: address, username: username === "" ? "oauth2" : username, password: token };
}

const MIRROR_PURPOSE = "forge mirror credentials";
const IMPORT_PURPOSE = "forge import credentials";

/** Seals credentials for their row: those that were copied to another row cannot be opened. */
export function createCredentialSeals(sealer: Sealer) {
  const seal = (purpose: string, credentials: Credentials, context: string) =>
    sealer.seal(purpose, JSON.stringify(credentials), context);
  const open = (purpose: string, sealed: string, context: string): Credentials =>
    credentialsSchema.parse(JSON.parse(sealer.openText(purpose, sealed, context)));
  return {
    sealOfMirror: (id: MirrorId, credentials: Credentials) =>
      seal(MIRROR_PURPOSE, credentials, ofMirror(id)),
    /** @throws SealError */
    openOfMirror: (mirror: { readonly id: MirrorId; readonly sealedCredentials: string }) =>
      open(MIRROR_PURPOSE, mirror.sealedCredentials, ofMirror(mirror.id)),
    sealOfImport: (id: RepositoryId, credentials: Credentials) =>
      seal(IMPORT_PURPOSE, credentials, ofImport(id)),
    /** @throws SealError */
    openOfImport: (id: RepositoryId, sealed: string) => open(IMPORT_PURPOSE, sealed, ofImport(id)),
  };
}

export type CredentialSeals = ReturnType<typeof createCredentialSeals>;

/** Reseal credentials, as a rotation of the master key needs it. */
export const sealMirrorAgain = (sealed: string, id: number | string, again: SealAgain) =>
  again(MIRROR_PURPOSE, sealed, ofMirror(id));
export const sealImportAgain = (sealed: string, id: number | string, again: SealAgain) =>
  again(IMPORT_PURPOSE, sealed, ofImport(id));

const ofMirror = (id: number | string) => `forge_mirrors/${id}`;
const ofImport = (id: number | string) => `forge_imports/${id}`;

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
