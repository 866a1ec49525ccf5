import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { System } from "../../../system.ts";
import { CliError } from "../../../errors.ts";

type Where = Pick<System, "workingDirectory" | "homeDirectory">;

/** A typed path as an absolute one. Terminals quote what is dropped on them, and `~` is the home folder. */
export function toLocalPath(typed: string, { workingDirectory, homeDirectory }: Where): string {
  const text = typed.trim();
  const quoted = /^(['"])(.*)\1$/.exec(text)?.[2];
  const plain = quoted ?? text.replaceAll(/\\(.)/g, "$1");
  if (plain === "~" || plain.startsWith("~/")) return join(homeDirectory, plain.slice(1));
  return resolve(workingDirectory, plain);
}

/** The folder that was typed. @throws CliError `file_error` when there is none */
export async function toLocalFolder(typed: string, where: Where): Promise<string> {
  const path = toLocalPath(typed, where);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return path;
  throw new CliError("file_error", `there is no folder ${typed.trim()}`);
}

/** What was typed with as much added as all files that fit have in common; a folder gets its slash. */
export async function completeLocalPath(typed: string, where: Where): Promise<string> {
  const isFolder = typed === "" || typed.endsWith("/");
  const begun = isFolder ? "" : basename(typed);
  const folder = isFolder ? typed : typed.slice(0, typed.length - begun.length);
  const path = toLocalPath(folder === "" ? "." : folder, where);
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  const fits = entries.filter(
    ({ name }) => name.startsWith(begun) && (begun !== "" || !name.startsWith(".")),
  );
  const [first] = fits;
  if (first === undefined) return typed;
  const common = fits.map(({ name }) => name).reduce(commonStart);
  const slash = fits.length === 1 && first.isDirectory() ? "/" : "";
  return folder + (common.length < begun.length ? begun : common) + slash;
}

function commonStart(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}

/** How a path is shown: below the working folder by what follows it. */
export function toShortPath(path: string, { workingDirectory }: Where): string {
  return dirname(path) === workingDirectory ? `./${basename(path)}` : path;
}
