import type { WireEmail } from "../../daemon/contract/forge/accounts/admin-emails.ts";
import { forge } from "../client/operations.ts";
import { CliError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { listOf, shape } from "../output/spec.ts";
import { createIfAbsent, isSameName, ifAbsentFlag } from "../support/if-absent.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List your e-mail addresses", {
    aliases: ["ls"],
    calls: [forge.listOwnEmails],
    output: listOf(forge.listOwnEmails),
    examples: [
      ["List your addresses", "croft email list"],
      ["Print those that are verified", "croft email list --jq '.[] | select(.verified) | .email'"],
    ],
    /** Prints the caller's addresses, the primary one first. */
    async run(cli) {
      const { body } = await cli.client.call(forge.listOwnEmails, {});
      await cli.output.list(wholeList(body), emailColumns);
    },
  }),
  command("add", "Add e-mail addresses to your account", {
    args: { "<email...>": "addresses that no account uses" },
    flags: ifAbsentFlag,
    calls: [forge.addOwnEmails, forge.listOwnEmails],
    output: {
      kind: "reply",
      operation: forge.addOwnEmails,
      status: 201,
      list: true,
    },
    examples: [
      ["Add an address", "croft email add mira@example.net"],
      ["Add two addresses", "croft email add mira@example.net mira@example.com"],
      ["In a script that may run again", "croft email add mira@example.net --if-absent"],
    ],
    /** Adds addresses to the caller's account, atomically. With `--if-absent` those that it has are printed unchanged. */
    async run(cli, { email: emails, ifAbsent }) {
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
              const { body } = await cli.client.call(forge.addOwnEmails, {
                body: { emails: [email] },
              });
              const [made] = body;
              if (made === undefined)
                throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
              return made;
            },
          });
          added.push(value);
        }
      await cli.output.list(wholeList(added), emailColumns);
    },
  }),
  command("delete", "Delete e-mail addresses of your account", {
    aliases: ["rm"],
    args: { "<email...>": "addresses of yours besides the primary one" },
    calls: [forge.deleteOwnEmails],
    output: shape({ deleted: "boolean", emails: "string" }),
    /** It can be added again. */
    destructive: false,
    examples: [
      ["Delete an address", "croft email delete mira@example.net"],
      ["Show the request only", "croft email delete mira@example.net --dry-run"],
    ],
    /** Deletes addresses of the caller's account, atomically. */
    async run(cli, { email: emails }) {
      await cli.client.call(forge.deleteOwnEmails, { body: { emails: [...emails] } });
      const names = emails.join(", ");
      await cli.output.done({ deleted: true, emails: names }, `Deleted ${names}.`);
    },
  }),
];

/** The columns of the caller's own addresses. */
const emailColumns: readonly Column<WireEmail>[] = [
  { header: "email", cell: ({ email }) => email },
  { header: "primary", cell: ({ primary }) => primary },
  { header: "verified", cell: ({ verified }) => verified },
];
