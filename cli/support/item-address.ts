import { CliError, usageError } from "../errors.ts";

/**
 * The address of an item on the command line: `CONNECTION:/path/to/file` by its path, `CONNECTION:ID` by the provider's
 * id, `ID` alone when there is only one connection.
 */
export type ItemAddress =
  | {
      readonly kind: "path";
      readonly connection: string;
      readonly path: readonly string[];
      readonly isFolder: boolean;
    }
  | { readonly kind: "id"; readonly connection: string | undefined; readonly id: string };

/** Reads an item's name. @throws CliError `usage` */
export function toItemAddress(word: string): ItemAddress {
  const slash = word.indexOf(":/");
  if (slash > 0) {
    const path = word
      .slice(slash + 2)
      .split("/")
      .filter((segment) => segment !== "" && segment !== ".");
    if (path.includes(".."))
      throw usageError(
        `${JSON.stringify(word)} contains "..", which is not allowed`,
        "write the path from the root",
      );
    // A slash at the end means a folder.
    const isFolder = word.endsWith("/");
    return { kind: "path", connection: word.slice(0, slash), path, isFolder };
  }
  const colon = word.indexOf(":");
  const id = colon > 0 ? word.slice(colon + 1) : word;
  if (id === "")
    throw usageError(
      `${JSON.stringify(word)} names no item`,
      colon > 0
        ? `write ${word}/ for its root, ${word}/path for an item in it`
        : "write CONNECTION:/path",
    );
  return { kind: "id", connection: colon > 0 ? word.slice(0, colon) : undefined, id };
}

/**
 * Whether a word has a connection in front, where a local path is possible too. Paths that begin with a dot, a slash or a
 * tilde are local; on Windows so is a letter with a colon, which is a drive there.
 */
export function isConnectionAddress(word: string, platform: NodeJS.Platform): boolean {
  if (platform === "win32" && /^[A-Za-z]:/.test(word)) return false;
  return /^[^./~\\][^/\\]*:/.test(word);
}

/** Parses an address that must be a path, such as one where nothing exists yet. */
export function toPathAddress(word: string): Extract<ItemAddress, { kind: "path" }> {
  const address = toItemAddress(word);
  if (address.kind === "path") return address;
  throw usageError(
    `${JSON.stringify(word)} is not a path of a connection`,
    "write CONNECTION:/path",
  );
}

/** The address as it is written. */
export function toAddressText(connection: string, path: readonly string[]): string {
  return `${connection}:/${path.join("/")}`;
}

/** The error for an item that is not at its path. `found` is the number of folders of the path that exist. */
export function noSuchItem(
  connection: string,
  path: readonly string[],
  isFolder = false,
  found = path.length - 1,
): CliError {
  const slash = isFolder && path.length > 0 ? "/" : "";
  const above = toAddressText(connection, path.slice(0, Math.max(0, found)));
  return new CliError("not_found", `there is no ${toAddressText(connection, path)}${slash}`, {
    service: "vault",
    hint: /[*?[]/.test(path.at(-1) ?? "")
      ? "patterns are not matched: name each item, or a folder with --recursive"
      : `"croft vault item list ${above}" shows what is there`,
  });
}
