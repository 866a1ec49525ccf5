import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { type Column, size, time } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { type FieldType, shapeList } from "../../output/spec.ts";

/** A mail as the command line shows it. */
export interface ShownMail {
  readonly id: string;
  /** RFC 3339; null when the mail does not say. */
  readonly date: string | null;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly bytes: number;
}

export const mailFields: Readonly<Record<keyof ShownMail, FieldType>> = {
  id: "string",
  date: "string?",
  from: "string",
  to: "string",
  subject: "string",
  bytes: "integer",
};

export const operations = [] as const;
export const output = shapeList(mailFields);

export function define(command: Command, cli: CliContext, run = runMailList): void {
  command.action(() => run(cli));
}

/** Prints the mails that this home's daemon wrote as files, for want of a mail server, newest first. */
async function runMailList(cli: CliContext): Promise<void> {
  const { paths } = await cli.config();
  const { listOutbox } = await import("../../../daemon/main.ts");
  const mails = await listOutbox(paths);
  await cli.output.list(wholeList(mails.map(toShownMail)), columns);
}

/** A mail with its time as everywhere else. */
export function toShownMail(mail: Omit<ShownMail, "date"> & { readonly date: string }): ShownMail {
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
