import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { mailFields, toShownMail } from "./list.ts";

export const operations = [] as const;
export const output = shape({ ...mailFields, text: "string", source: "string" });

export function define(command: Command, cli: CliContext, run = runMailShow): void {
  command
    .argument("[id]", 'the mail\'s id, as "croft mail list" shows it; the newest when absent')
    .action((id: string | undefined) => run(cli, id));
}

/** Prints one mail of this home's outbox. @throws CliError `not_found` */
async function runMailShow(cli: CliContext, id: string | undefined): Promise<void> {
  const { paths } = await cli.config();
  const { listOutbox, readOutbox } = await import("../../../daemon/main.ts");
  const wanted = id ?? (await listOutbox(paths))[0]?.id;
  const mail = wanted === undefined ? undefined : await readOutbox(paths, wanted);
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
  await cli.output.text(shown, {
    ...toShownMail(mail),
    text,
    source,
  });
}
