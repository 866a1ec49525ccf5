// Exports of Paperless-ngx: its document exporter writes `manifest.json`, a list of Django's serialized records, and the files.
// With `--split-manifest` the record of a document is in `NAME-manifest.json` beside it.
import { extname } from "node:path";
import { CliError } from "../../errors.ts";
import { asObject, type JsonObject } from "../../support/json.ts";
import { type ImportedExport, listData, readData } from "./document-source.ts";

const MANIFEST = "manifest.json";
/** Longest name of a document in bytes, with its extension. */
const NAME_BYTES_MAX = 255;

interface PaperlessRecord {
  readonly pk: number;
  readonly fields: JsonObject;
  readonly whole: JsonObject;
}

/** Reads the data of an export of Paperless-ngx. Tags, correspondents and document types become topics of their names. */
export async function readPaperless(root: string): Promise<ImportedExport> {
  const records = await readRecords(root, MANIFEST);
  if (!records.has("documents.document"))
    for (const name of await listData(root, `-${MANIFEST}`))
      for (const [model, found] of await readRecords(root, name))
        records.set(model, [...(records.get(model) ?? []), ...found]);
  const namesOf = (model: string) =>
    new Map(
      (records.get(model) ?? []).flatMap(({ pk, fields }) => {
        const { name, is_inbox_tag: isInbox } = fields;
        return typeof name === "string" && isInbox !== true ? [[pk, name] as const] : [];
      }),
    );
  const tags = namesOf("documents.tag");
  const correspondents = namesOf("documents.correspondent");
  const types = namesOf("documents.documenttype");
  const documents = (records.get("documents.document") ?? []).map(({ pk, fields, whole }) => {
    const file = whole["__exported_file_name__"];
    if (typeof file !== "string")
      return { item: `document ${pk}`, error: "the manifest names no file for it" };
    const topics = [
      ...(Array.isArray(fields["tags"]) ? fields["tags"] : []).map((tag) =>
        tags.get(tag as number),
      ),
      correspondents.get(fields["correspondent"] as number),
      types.get(fields["document_type"] as number),
    ].filter((name) => name !== undefined);
    const { checksum } = fields;
    return {
      file,
      filename: toName(fields["title"], file),
      hash: typeof checksum === "string" && HASH.test(checksum) ? checksum : undefined,
      topics,
    };
  });
  return { documents, topics: [] };
}

/** MD5 up to version 2, SHA-256 later. */
const HASH = /^(?:[0-9a-f]{32}|[0-9a-f]{64})$/i;

/** Returns the records of a manifest by model; those that are none are left out. @throws CliError `invalid` */
async function readRecords(root: string, name: string): Promise<Map<string, PaperlessRecord[]>> {
  const data = await readData(root, name);
  if (!Array.isArray(data))
    throw new CliError("invalid", `${name} is not a manifest of Paperless-ngx: it is no list`);
  const records = data.flatMap((one) => {
    const whole = asObject(one);
    const fields = asObject(whole?.["fields"]);
    const { model, pk } = whole ?? {};
    if (whole === undefined || fields === undefined) return [];
    return typeof model === "string" && typeof pk === "number"
      ? [{ model, pk, fields, whole }]
      : [];
  });
  return Map.groupBy(records, ({ model }) => model);
}

/** Returns the title with the extension of the file, as a name that the vault takes. */
function toName(title: unknown, file: string): string {
  const extension = extname(file).slice(0, 20);
  const plain = (typeof title === "string" ? title.slice(0, 300) : "")
    .toWellFormed()
    .replaceAll(/[/\\\p{Cc}]+/gu, "_")
    .trim();
  const stem = plain.toLowerCase().endsWith(extension.toLowerCase())
    ? plain.slice(0, plain.length - extension.length)
    : plain;
  let cut = stem === "" || stem === "." || stem === ".." ? "document" : stem;
  while (Buffer.byteLength(cut + extension) > NAME_BYTES_MAX) cut = [...cut].slice(0, -1).join("");
  return cut + extension;
}
