import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "../../errors.ts";
import { asObject } from "../../support/json.ts";
import { codeOf } from "../../support/save-stream.ts";
import { exportFile, exportFormat } from "./document-export.ts";

/** A document of an export, whichever program wrote it. */
export interface ImportedDocument {
  /** The file, relative to the folder, as the export names it. */
  readonly file: string;
  readonly filename: string;
  /** MD5 or SHA-256 of the file in hexadecimal. */
  readonly hash: string | undefined;
  readonly topics: readonly string[];
}

/** The content of an export. */
export interface ImportedExport {
  /** Documents, and what is wrong with the entries that are none. */
  readonly documents: readonly (
    | ImportedDocument
    | { readonly item: string; readonly error: string }
  )[];
  readonly topics: readonly { readonly name: string; readonly description: string }[];
}

/** Maximum size of a file with data. Node's longest text is 512 MiB. */
const DATA_BYTES_MAX = 400 * 1024 * 1024;
/** Reads a file of data below the folder as JSON. @throws CliError `file_error`, `invalid` */
export async function readData(root: string, name: string): Promise<unknown> {
  const path = join(root, name);
  const found = await lstat(path).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new CliError("file_error", `${root} has no ${name}: it is not an export of that kind`, {
      hint: "--from names the program that wrote the export",
    });
  });
  if (!found.isFile()) throw new CliError("invalid", `${path} is not a regular file`);
  if (found.size > DATA_BYTES_MAX)
    throw new CliError(
      "invalid",
      `${path} has ${found.size} bytes; at most ${DATA_BYTES_MAX} are read`,
    );
  try {
    return JSON.parse(await readFile(path, "utf8")) as unknown;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new CliError("invalid", `${path} is not JSON: ${error.message}`);
  }
}

/** Reads the data of an export of croft. */
export async function readExport(root: string): Promise<ImportedExport> {
  const data = asObject(await readData(root, exportFile));
  if (data?.["format"] !== exportFormat || !Array.isArray(data["documents"]))
    throw new CliError("invalid", `${exportFile} is not the file of an export`);
  if (data["version"] !== 1)
    throw new CliError("unsupported", `${exportFile} is of another version of croft`, {
      hint: "update croft",
    });
  const topics = (Array.isArray(data["topics"]) ? data["topics"] : []).flatMap((one) => {
    const { name, description = "" } = asObject(one) ?? {};
    return typeof name === "string" && typeof description === "string"
      ? [{ name, description }]
      : [];
  });
  return { documents: data["documents"].map(toDocument), topics };
}

function toDocument(one: unknown, index: number): ImportedExport["documents"][number] {
  const { file, filename, sha256, topics } = asObject(one) ?? {};
  const names = (Array.isArray(topics) ? topics : [undefined]).map(
    (each) => asObject(each)?.["name"],
  );
  if (
    typeof file !== "string" ||
    typeof filename !== "string" ||
    typeof sha256 !== "string" ||
    !names.every((name) => typeof name === "string")
  )
    return {
      item: typeof file === "string" ? file : `document ${index + 1}`,
      error: "the entry has no file, filename, sha256 or topics",
    };
  return { file, filename, hash: sha256, topics: names };
}

/** Returns the files of a folder whose names end so, at any depth, without those behind links. */
export async function listData(root: string, end: string): Promise<readonly string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(end))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .toSorted();
}
