import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ComposedMail } from "./compose.ts";

/** A mail in the outbox. */
export interface OutboxMail {
  /** The file's name without `.eml`; sorts by time. */
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  /** RFC 5322, as in the mail. */
  readonly date: string;
  readonly bytes: number;
}

/** Maximum number of mails in the outbox; the oldest are deleted. */
export const OUTBOX_MAILS_MAX = 1000;

/**
 * Writes a mail as `.eml` file of mode 0600, atomically. Writing the same mail again replaces the file.
 * @param folders `outbox/` and `tmp/` of the data directory, on one file system
 */
export async function writeMail(
  folders: { readonly outbox: string; readonly tmp: string },
  mail: ComposedMail,
): Promise<void> {
  const name = `${mail.date.toISOString().replace(/[-:.]/g, "")}-${mail.id}.eml`;
  const unfinished = join(folders.tmp, name);
  await rm(unfinished, { force: true });
  const file = await open(unfinished, "wx", 0o600);
  try {
    await file.writeFile(mail.source);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, join(folders.outbox, name));
  const names = await listNames(folders.outbox);
  for (const old of names.slice(OUTBOX_MAILS_MAX)) {
    await rm(join(folders.outbox, old), { force: true });
  }
}

/** Lists the mails of an outbox, newest first. */
export async function listMails(outbox: string): Promise<OutboxMail[]> {
  const names = await listNames(outbox);
  return Promise.all(names.map(async (name) => (await readOne(outbox, name)).mail));
}

/** Returns a mail with its decoded text and its source; undefined for an unknown id. */
export async function readMail(
  outbox: string,
  id: string,
): Promise<(OutboxMail & { readonly text: string; readonly source: string }) | undefined> {
  const names = await listNames(outbox);
  // Only listed names are opened: an id must not be used as a path.
  if (!names.includes(`${id}.eml`)) {
    return undefined;
  }
  const { mail, text, source } = await readOne(outbox, `${id}.eml`);
  return { ...mail, text, source };
}

async function listNames(outbox: string): Promise<string[]> {
  const names = await readdir(outbox).catch((error: NodeJS.ErrnoException) => {
    // A home without a first start has no mails.
    if (error.code !== "ENOENT") throw error;
    return [];
  });
  return names
    .filter((name) => name.endsWith(".eml") && !name.startsWith("."))
    .sort()
    .toReversed();
}

async function readOne(outbox: string, name: string) {
  const path = join(outbox, name);
  const [source, { size }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
  const end = source.indexOf("\r\n\r\n");
  const headers = toHeaders(end === -1 ? source : source.slice(0, end));
  const body = end === -1 ? "" : source.slice(end + 4);
  const header = (field: string) => decodeWords(headers.get(field) ?? "");
  const mail: OutboxMail = {
    id: name.slice(0, -".eml".length),
    from: header("from"),
    to: header("to"),
    subject: header("subject"),
    date: header("date"),
    bytes: size,
  };
  return { mail, source, text: decodeBody(body, headers.get("content-transfer-encoding") ?? "") };
}

function toHeaders(block: string): Map<string, string> {
  const lines = block.replace(/\r\n[ \t]+/g, " ").split("\r\n");
  return new Map(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
}

/** Decodes RFC 2047 words in UTF-8, the only ones that the composer writes. */
function decodeWords(value: string): string {
  const joined = value.replace(/(\?=)\s+(=\?)/g, "$1$2");
  return joined.replace(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_all, kind: string, word: string) =>
    kind.toLowerCase() === "b"
      ? Buffer.from(word, "base64").toString("utf8")
      : decodeQuoted(word.replaceAll("_", " ")),
  );
}

function decodeBody(body: string, encoding: string): string {
  const unix = (text: string) => text.replaceAll("\r\n", "\n");
  switch (encoding.toLowerCase()) {
    case "quoted-printable":
      return unix(decodeQuoted(body.replace(/=\r\n/g, "")));
    case "base64":
      return unix(Buffer.from(body, "base64").toString("utf8"));
    default:
      return unix(body);
  }
}

function decodeQuoted(text: string): string {
  const bytes = text.replace(/=([0-9a-f]{2})/gi, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, "latin1").toString("utf8");
}
