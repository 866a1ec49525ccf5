import type { RepositoryId, TeamId } from "../../../storage/tables/forge/ids.ts";

/** A mail of plain text. */
export interface MailMessage {
  /** One e-mail address. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The mail is sent only while this holds for the address. A mail may wait for half a day. */
  readonly reader?: MailReader | undefined;
  /** What the mail belongs to, for mail programs. */
  readonly thread?: MailThread | undefined;
}

/** Mails of one subject, which mail programs show together, and the list that they sort them by. */
export interface MailThread {
  /** Letters, digits and `-`; the same for all mails of the subject. */
  readonly id: string;
  /** Whether the mail is the first one: any other is a reply. */
  readonly isStart: boolean;
  /** `owner/name` of the repository. */
  readonly list: string;
}

/**
 * The reason for a mail: the account may read the repository, or is in the team, or exists, with the link of the mail as its way to a
 * password. Those of the vault are the vault's (`daemon/vault/accounts/mail-recipients.ts`).
 */
export type MailReader =
  | {
      readonly userId: number;
      readonly repositoryId: RepositoryId;
      /** The part of the repository that the mail is about: its code when absent. */
      readonly part?: "issue" | "pull" | undefined;
    }
  | { readonly userId: number; readonly teamId: TeamId }
  | { readonly userId: number; readonly resetHash?: string | undefined }
  | { readonly vault: "share" | "invitation" | "link"; readonly id: string }
  | { readonly vault: "password"; readonly id: string; readonly replaces: string };

/** A mail ready to be sent: RFC 5322 source with CRLF line ends. */
export interface ComposedMail {
  readonly id: string;
  readonly date: Date;
  readonly envelope: { readonly from: string; readonly to: string };
  readonly source: Buffer;
}

/** Maximum length of a line (RFC 5322, 2.1.1), in octets. */
const LINE_MAX = 998;
const ADDRESS = /^[^\s<>()[\],;:"\\@]{1,64}@[^\s<>()[\],;:"\\@]{1,253}$/;

/**
 * Composes the MIME source of a mail; undefined when the recipient is not an e-mail address. Text of recipient, subject and
 * body cannot inject headers or addresses. ASCII text is not encoded, so that a long link stays whole in the source; the
 * composer would break it.
 */
export async function composeMail(
  message: MailMessage,
  about: { readonly id: string; readonly from: string; readonly date: Date },
): Promise<ComposedMail | undefined> {
  const to = message.to.trim();
  // oxlint-disable-next-line no-control-regex -- control characters are refused
  if (!ADDRESS.test(to) || /[\u0000-\u001f\u007f]/.test(to)) {
    return undefined;
  }
  const { default: MailComposer } = await import("nodemailer/lib/mail-composer");
  const text = withCrlf(message.text);
  const asItIs = isPlain(text);
  const domain = domainOf(about.from);
  const node = new MailComposer({
    from: oneLine(about.from),
    to: { name: "", address: to },
    subject: oneLine(message.subject),
    date: about.date,
    messageId: `<${about.id}@${domain}>`,
    headers: {
      // Out-of-office programs do not reply to it: those of RFC 3834, and Exchange.
      "Auto-Submitted": "auto-generated",
      "X-Auto-Response-Suppress": "All",
      ...toThreadHeaders(message.thread, domain),
    },
    text: asItIs ? "x" : text,
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  const source = asItIs ? Buffer.from(`${node.buildHeaders()}\r\n\r\n${text}`) : await node.build();
  const { from } = node.getEnvelope();
  return { id: about.id, date: about.date, envelope: { from: from || "", to }, source };
}

/**
 * The mails of a thread refer to one that was never sent, because each recipient got another first one: mail programs show
 * those together that refer to the same (RFC 5256). The list has an id as RFC 2919 asks for.
 */
function toThreadHeaders(thread: MailThread | undefined, domain: string): Record<string, string> {
  if (thread === undefined) return {};
  const root = `<${thread.id}@${domain}>`;
  const list = thread.list.split("/").toReversed().join(".");
  return {
    ...(thread.isStart ? {} : { "In-Reply-To": root }),
    References: root,
    "List-Id": `${oneLine(thread.list)} <${oneLine(list)}.${domain}>`,
  };
}

function withCrlf(text: string): string {
  return `${text
    .replace(/\r\n?|\n/g, "\n")
    .replace(/\n+$/, "")
    .replaceAll("\n", "\r\n")}\r\n`;
}

function isPlain(text: string): boolean {
  return (
    /^[\t\r\n\u0020-\u007e]*$/.test(text) &&
    text.split("\r\n").every((line) => line.length <= LINE_MAX)
  );
}

function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are removed
  return text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, " ").trim();
}

function domainOf(from: string): string {
  return /@([\w.-]+)>?\s*$/.exec(from)?.[1] ?? "localhost";
}
