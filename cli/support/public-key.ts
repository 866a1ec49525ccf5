import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { WirePublicKey } from "../../daemon/contract/forge/accounts/keys.ts";
import type { CliContext } from "../context.ts";
import { type Column, time } from "../output/cells.ts";

/** A public key in a table. */
export const keyColumns: readonly Column<WirePublicKey>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "title", cell: ({ title }) => title },
  { header: "fingerprint", cell: ({ fingerprint }) => fingerprint },
  { header: "user", cell: ({ user }) => user.login },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
];

/** Reads a public key from a file, or from standard input for `-`. */
export async function readKeyFile(cli: CliContext, file: string): Promise<string> {
  if (file === "-") return cli.io.readInput(64 * 1024);
  return readFile(resolve(cli.system.workingDirectory, file), "utf8");
}

/** Returns the title of a key without one: the name of its file. */
export function toKeyTitle(file: string): string {
  return file === "-" ? "standard input" : basename(file);
}

/** Returns whether two public keys are equal, without their comments and options. */
export function isSameKey(one: string, other: string): boolean {
  return bytesOf(one) !== undefined && bytesOf(one) === bytesOf(other);
}

/** The base64 part of a key in OpenSSH's form, which begins with the length of the type. */
function bytesOf(key: string): string | undefined {
  return /(?:^|\s)(AAAA[\w+/]+)=*(?:\s|$)/.exec(key)?.[1];
}
