import { toLocalPath } from "../../pages/page.ts";

export const HOME = "/vault";
export const ADD = "/vault/add";
export const TRASH = "/vault/trash";
export const LINKS = "/vault/links";
export const SHARED = "/vault/shared";
export const CONNECTIONS = "/vault/c";
export const ACCOUNT = "/vault/account";
export const ADMIN = "/vault/admin";
export const SIGN_IN = "/vault/sign-in";
export const SIGN_OUT = "/vault/sign-out";
export const FORGOT_PASSWORD = "/vault/forgot-password";
export const NEW_PASSWORD = "/vault/new-password";
/** The target of the form around the list of documents. */
export const CHOSEN = "/vault/chosen";

/** Returns the address of a document's page. */
export const toDocumentPath = (id: string): string => `/vault/d/${id}`;

/** Returns the address of the documents with a topic. */
export const toTopicPath = (name: string): string =>
  `${HOME}?${new URLSearchParams({ topic: name })}`;

/** Returns the address of a connection's folder; the root for an empty `ref`. */
export function toFolderPath(connectionId: string, ref = ""): string {
  const query = ref === "" ? "" : `?folder=${encodeURIComponent(ref)}`;
  return `${CONNECTIONS}/${connectionId}${query}`;
}

/** Returns the address of the page of a file in connected storage. */
export function toItemPath(connectionId: string, itemId: string): string {
  return `${CONNECTIONS}/${connectionId}/item?id=${encodeURIComponent(itemId)}`;
}

/** Returns the path to return to; the first page for a path outside the vault's pages. */
export function toVaultPath(path: string | null): string {
  const local = toLocalPath(path);
  return /^\/vault(?:[/?]|$)/.test(local) ? local : HOME;
}
