import type { WireEmail } from "../../daemon/contract/forge/accounts/admin-emails.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { listOf, shape } from "../output/spec.ts";
import {
  addIfAbsentFlag,
  createIfAbsent,
  type IfAbsentFlag,
  isSameName,
} from "../support/if-absent.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List your e-mail addresses", () => listEmails, { aliases: ["ls"] }),
  verb("add", "Add e-mail addresses to your account", () => addEmail),
  verb("delete", "Delete e-mail addresses of your account", () => deleteEmail, {
    aliases: ["rm"],
  }),
];

const listEmails = {
  operations: [forge.listOwnEmails],
  output: listOf(forge.listOwnEmails),
  define(command, cli, run = runEmailList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the caller's addresses, the primary one first. */
async function runEmailList(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.listOwnEmails, {});
  await cli.output.list(wholeList(body), emailColumns);
}

interface EmailOptions extends IfAbsentFlag {
  readonly emails: readonly string[];
}

export const addEmail = {
  operations: [forge.addOwnEmails, forge.listOwnEmails],
  output: {
    kind: "reply",
    operation: forge.addOwnEmails,
    status: 201,
    list: true,
  },
  define(command, cli, run = runEmailAdd): void {
    addIfAbsentFlag(command)
      .argument("<email...>", "addresses that no account uses")
      .action((emails: readonly string[], flags: IfAbsentFlag) => run(cli, { emails, ...flags }));
  },
} satisfies CommandModule;

/** Adds addresses to the caller's account, atomically. With `--if-absent` those that it has are printed unchanged. */
async function runEmailAdd(cli: CliContext, { emails, ifAbsent }: EmailOptions): Promise<void> {
  const added: WireEmail[] = [];
  if (ifAbsent !== true)
    added.push(
      ...(await cli.client.call(forge.addOwnEmails, { body: { emails: [...emails] } })).body,
    );
  else
    // A request adds all of its addresses or none, so those that exist are left out.
    for (const email of emails) {
      const { value } = await createIfAbsent<WireEmail>(cli, {
        ifAbsent,
        title: `the address ${email}`,
        async find() {
          const { body } = await cli.client.call(forge.listOwnEmails, {});
          return body.find((one) => isSameName(one.email, email));
        },
        async create() {
          const { body } = await cli.client.call(forge.addOwnEmails, { body: { emails: [email] } });
          const [made] = body;
          if (made === undefined)
            throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
          return made;
        },
      });
      added.push(value);
    }
  await cli.output.list(wholeList(added), emailColumns);
}

const deleteEmail = {
  operations: [forge.deleteOwnEmails],
  output: shape({ deleted: "boolean", emails: "string" }),
  /** It can be added again. */
  destructive: false,
  define(command, cli, run = runEmailDelete): void {
    command
      .argument("<email...>", "addresses of yours besides the primary one")
      .action((emails: readonly string[]) => run(cli, { emails }));
  },
} satisfies CommandModule;

/** Deletes addresses of the caller's account, atomically. */
async function runEmailDelete(cli: CliContext, { emails }: EmailOptions): Promise<void> {
  await cli.client.call(forge.deleteOwnEmails, { body: { emails: [...emails] } });
  const names = emails.join(", ");
  await cli.output.done({ deleted: true, emails: names }, `Deleted ${names}.`);
}

/** The columns of the caller's own addresses. */
const emailColumns: readonly Column<WireEmail>[] = [
  { header: "email", cell: ({ email }) => email },
  { header: "primary", cell: ({ primary }) => primary },
  { header: "verified", cell: ({ verified }) => verified },
];
