import type { z } from "zod";
import type { inboxEndpoints } from "../../../daemon/contract/vault/inbox.ts";
import { vault } from "../../client/operations.ts";
import { type Column, size, time } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { listOf, resourceOf } from "../../output/spec.ts";
import { command } from "../../tree/command.ts";
import type { Entry } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  command("status", "Show whether your inbox folder is taken in, and what waits in it", {
    calls: [vault.getInbox],
    output: resourceOf(vault.getInbox),
    examples: [
      ["Show your inbox", "croft vault inbox status"],
      [
        "Print the number of refused files",
        "croft vault inbox status --jq '[.files[] | select(.status == \"refused\")] | length'",
      ],
    ],
    /** Prints the state of the folder with the number of files in each state; JSON has the files. */
    async run(cli) {
      const { body } = await cli.client.call(vault.getInbox);
      await cli.output.resource(body, stateColumns);
    },
  }),
  command("list", "List files that wait in your inbox folder or were refused", {
    aliases: ["ls"],
    calls: [vault.getInbox],
    output: listOf(vault.getInbox, "files"),
    examples: [
      ["List the files with the reasons", "croft vault inbox list"],
      [
        "Print the names of refused files",
        "croft vault inbox list --jq '.[] | select(.status == \"refused\") | .name'",
      ],
    ],
    async run(cli) {
      const { body } = await cli.client.call(vault.getInbox);
      await cli.output.list(wholeList(body.files), fileColumns);
    },
  }),
  command("retry", "Try refused files of your inbox folder again", {
    args: { "[name]": "a refused file; all of them without" },
    calls: [vault.retryInbox],
    output: resourceOf(vault.retryInbox),
    examples: [
      ["Try all refused files again", "croft vault inbox retry"],
      ["Try one again", "croft vault inbox retry scan.pdf"],
    ],
    async run(cli, { name }) {
      const body = name === undefined ? {} : { name };
      const { body: done } = await cli.client.call(vault.retryInbox, { body });
      await cli.output.resource(done, [{ header: "retried", cell: ({ retried }) => retried }]);
    },
  }),
];

type WireInbox = z.output<(typeof inboxEndpoints.getInbox.replies)[200]>;
type WireFile = WireInbox["files"][number];

const count = (status: WireFile["status"]) => ({
  header: status,
  cell: ({ files }: WireInbox) => files.filter((file) => file.status === status).length,
});

const stateColumns: readonly Column<WireInbox>[] = [
  { header: "enabled", cell: ({ is_enabled: isEnabled }) => isEnabled },
  { header: "folder", cell: ({ folder }) => folder },
  { header: "problem", cell: ({ problem }) => problem },
  count("waiting"),
  count("retrying"),
  count("refused"),
];

const fileColumns: readonly Column<WireFile>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "status", cell: ({ status }) => status },
  { header: "size", cell: ({ size_bytes: bytes }) => size(bytes) },
  { header: "modified", cell: ({ modified_at: modified }) => time(modified) },
  { header: "reason", cell: ({ reason }) => reason },
];
