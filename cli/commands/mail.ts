import { CliError } from "../errors.ts";
import { type Column, size, time } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { type FieldType, shape, shapeList } from "../output/spec.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

const mailFields: Readonly<Record<keyof ShownMail, FieldType>> = {
  id: "string",
  date: "string?",
  from: "string",
  to: "string",
  subject: "string",
  bytes: "integer",
};

export const entries: readonly Entry[] = [
  command("list", "List mail in the outbox", {
    aliases: ["ls"],
    output: shapeList(mailFields),
    examples: [
      ["List the mails of the outbox", "croft mail list"],
      ["Print subjects", "croft mail list --jq '.[].subject'"],
    ],
    /** Prints the mails that this home's daemon wrote as files because it has no mail server, newest first. */
    async run(cli) {
      const { paths } = await cli.config();
      const { listOutbox } = await import("../../daemon/main.ts");
      const mails = await listOutbox(paths);
      await cli.output.list(wholeList(mails.map(toShownMail)), columns);
    },
  }),
  command("show", "Show a mail of the outbox", {
    args: { "[id]": 'the mail\'s id, as "croft mail list" shows it; the newest when absent' },
    output: shape({ ...mailFields, text: "string", source: "string" }),
    examples: [
      ["Show the newest mail", "croft mail show"],
      ["Print its text", "croft mail show --jq .text"],
    ],
    /** Prints one mail of this home's outbox. @throws CliError `not_found` */
    async run(cli, { id }) {
      const { paths } = await cli.config();
      const { listOutbox, readOutbox } = await import("../../daemon/main.ts");
      const mailId = id ?? (await listOutbox(paths))[0]?.id;
      const mail = mailId === undefined ? undefined : await readOutbox(paths, mailId);
      if (mail === undefined)
        throw new CliError(
          "not_found",
          id === undefined ? "the outbox is empty" : `there is no mail ${JSON.stringify(id)}`,
          {
            hint: '"croft mail list" shows what is there; with a mail server (smtp_url) mails are sent instead',
          },
        );
      const { from, to, subject, date, text, source } = mail;
      const shown = `From: ${from}\nTo: ${to}\nSubject: ${subject}\nDate: ${date}\n\n${text}`;
      await cli.output.page(shown, {
        ...toShownMail(mail),
        text,
        source,
      });
    },
  }),
];

/** A mail in the output. */
interface ShownMail {
  readonly id: string;
  /** RFC 3339; null when the mail has no valid date. */
  readonly date: string | null;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly bytes: number;
}

/** Returns a mail with its date in RFC 3339. */
function toShownMail(mail: Omit<ShownMail, "date"> & { readonly date: string }): ShownMail {
  const { id, from, to, subject, bytes } = mail;
  const at = Date.parse(mail.date);
  const date = Number.isNaN(at) ? null : new Date(at).toISOString();
  return { id, date, from, to, subject, bytes };
}

const columns: readonly Column<ShownMail>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "date", cell: ({ date }) => time(date) },
  { header: "to", cell: ({ to }) => to },
  { header: "subject", cell: ({ subject }) => subject },
  { header: "size", cell: ({ bytes }) => size(bytes) },
];
