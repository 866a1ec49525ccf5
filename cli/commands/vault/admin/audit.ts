import type { z } from "zod";
import type {
  auditEntry,
  auditVerification,
  dailyExport,
} from "../../../../daemon/contract/vault/admin.ts";
import type { ByteDownload } from "../../../client/bytes.ts";
import { vault } from "../../../client/operations.ts";
import { vaultPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, exitCodeOf, toCliError } from "../../../errors.ts";
import { type Column, size, time } from "../../../output/cells.ts";
import { listOf, resourceOf } from "../../../output/spec.ts";
import { assertRawOutput, writeRaw } from "../../../support/raw-output.ts";
import { commandDetails, type FlagValues } from "../../../tree/command.ts";

const eventPrefixes = ["auth", "cloud", "document", "share", "admin", "system"] as const;

/** The flags that filter audit records. */
const auditFilterFlags = {
  "--user <handle>": "only records about this user",
  "--event <kind>": { help: "only events of this kind", choices: eventPrefixes },
  "--from <time>": "only from this time on, such as 2026-11-20 or 2026-11-20T09:30:00Z",
  "--to <time>": "only before this time",
} as const;

export const listAudit = commandDetails({
  flags: auditFilterFlags,
  calls: [vault.listAudit],
  output: listOf(vault.listAudit, "items"),
  examples: [
    ["List the latest records", "croft vault admin audit list"],
    [
      "List sign-ins of a user since a day",
      "croft vault admin audit list --user mira --event auth --from 2026-11-20",
    ],
  ],
  /** Prints audit records, newest first. */
  async run(cli, options) {
    const query = toAuditQuery(options);
    await cli.output.list(vaultPages(cli.client, vault.listAudit, { query }), auditColumns);
  },
});

/** An audit record, line by line. */
const auditColumns: readonly Column<z.output<typeof auditEntry>>[] = [
  { header: "time", cell: ({ created_at: at }) => time(at) },
  { header: "event", cell: ({ event_type: event }) => event },
  { header: "user", cell: (entry) => entry.user_handle ?? entry.user_id },
  { header: "by", cell: (entry) => entry.actor_handle ?? entry.actor_id },
  { header: "address", cell: ({ ip_address: address }) => address },
  { header: "what", cell: ({ metadata }) => toText(metadata) },
];

function toText(metadata: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(metadata).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return words.join(" ");
}

export const exportAudit = commandDetails({
  flags: auditFilterFlags,
  calls: [vault.exportAudit],
  output: { kind: "bytes" },
  examples: [
    ["Write all records to a file", "croft vault admin audit export > audit.csv"],
    [
      "Write the records of a month",
      "croft vault admin audit export --from 2026-11-01 --to 2026-12-01 > november.csv",
    ],
  ],
  /** Writes audit records as CSV to standard output, oldest first. */
  async run(cli, options) {
    const query = { ...toAuditQuery(options), format: "csv" } as const;
    await writeCsv(cli, () => cli.client.download(vault.exportAudit, { query }));
  },
});

export const listDailyExports = commandDetails({
  calls: [vault.listDailyExports],
  output: listOf(vault.listDailyExports, "items"),
  examples: [
    ["List the stored days", "croft vault admin audit daily list"],
    ["Print the newest one as JSON", "croft vault admin audit daily list --limit 1 --json"],
  ],
  /** Prints the days whose audit records are stored as files, newest first. */
  async run(cli) {
    await cli.output.list(vaultPages(cli.client, vault.listDailyExports, { query: {} }), columns);
  },
});

const columns: readonly Column<z.output<typeof dailyExport>>[] = [
  { header: "day", cell: ({ date }) => date },
  { header: "size", cell: ({ size_bytes: bytes }) => size(bytes) },
];

export const downloadDailyExport = commandDetails({
  args: { "<day>": "such as 2026-11-20, in UTC" },
  calls: [vault.downloadDailyExport],
  output: { kind: "bytes" },
  examples: [
    [
      "Save the records of a day",
      "croft vault admin audit daily download 2026-11-20 > 2026-11-20.csv",
    ],
    ["Count them", "croft vault admin audit daily download 2026-11-20 | wc -l"],
  ],
  /** Writes the stored audit records of one day as CSV to standard output. */
  async run(cli, { day }) {
    await writeCsv(cli, () =>
      cli.client.download(vault.downloadDailyExport, { params: { date: day } }),
    );
  },
});

export const verifyAudit = commandDetails({
  flags: { "--head <hash>": "a hash that was kept elsewhere, which must be in the chain" },
  calls: [vault.verifyAudit],
  output: resourceOf(vault.verifyAudit),
  examples: [
    ["Check the audit trail", "croft vault admin audit verify"],
    [
      "Check it against a hash that was kept elsewhere",
      "croft vault admin audit verify --head 3ff0e2c6a0b3a1a9c28ab2e0b1f1c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5",
    ],
    ["Keep the hash of today", "croft vault admin audit verify --jq .hash > audit-head.txt"],
  ],
  note: [
    "Without --head, a trail that was rewritten as a whole looks right.",
    "Keep a hash of it outside of the server.",
  ].join("\n"),
  /** Has the daemon verify the chain. Exits with code 1 when a record does not fit or the given head is missing. */
  async run(cli, { head }) {
    const query = head === undefined ? {} : { head: head.trim() };
    const { body } = await cli.client.call(vault.verifyAudit, { query });
    await cli.output.resource(body, verificationColumns);
    if (body.is_intact) return;
    cli.io.warn(toComplaint(body));
    cli.finishWith(exitCodeOf(new CliError("checks_failed", "")));
  },
});

type Verification = z.output<typeof auditVerification>;

const verificationColumns: readonly Column<Verification>[] = [
  { header: "intact", cell: ({ is_intact: isIntact }) => isIntact },
  { header: "verified", cell: ({ verified }) => verified },
  { header: "before the chain", cell: ({ unchained }) => unchained },
  { header: "removed by retention", cell: ({ removed }) => removed },
  { header: "hash", cell: ({ hash }) => hash },
  { header: "given head", cell: ({ head }) => head },
];

function toComplaint({ fault, head }: Verification): string {
  if (fault === null)
    return head === "missing"
      ? "No record has the given hash: records were changed or removed since it was kept, or it is from another server."
      : "The audit trail does not fit.";
  const id = fault.record_id === null ? "" : ` (id ${fault.record_id})`;
  switch (fault.reason) {
    case "changed":
      return `Record ${fault.position}${id} was changed.`;
    case "missing":
      return `Record ${fault.position} is missing.`;
    case "added":
      return `The record with id ${fault.record_id} was written past the chain.`;
    case "end_differs":
      return `Record ${fault.position} is not the one that croft wrote last.`;
    case "no_chain":
      return "The ends of the chain were deleted.";
  }
}

export const listAuditHeads = commandDetails({
  calls: [vault.listAuditHeads],
  output: listOf(vault.listAuditHeads, "items"),
  examples: [
    ["List the daily hashes", "croft vault admin audit head list"],
    ["Print the newest one", "croft vault admin audit head list --limit 1 --jq '.[0].hash'"],
  ],
  /** Prints the last hash of each day, newest first. */
  async run(cli) {
    await cli.output.list(vaultPages(cli.client, vault.listAuditHeads, { query: {} }), [
      { header: "day", cell: ({ date }) => date },
      { header: "record", cell: ({ position }) => position },
      { header: "hash", cell: ({ hash }) => hash },
    ]);
  },
});

/** Converts the flags to a query. */
function toAuditQuery({ user, event, from, to }: FlagValues<typeof auditFilterFlags>) {
  return { user_handle: user, event_type: event, from, to };
}

/**
 * Writes a download to standard output as it arrives. Records contain text of other users, so a terminal gets them
 * only with `--force`. @throws CliError `daemon_unreachable` when the connection closes early
 */
async function writeCsv(cli: CliContext, open: () => Promise<ByteDownload>): Promise<void> {
  assertRawOutput(cli, {
    what: "CSV",
    instead: "send them to a file with > FILE, or give --force",
  });
  const { stream } = await open();
  try {
    await writeRaw(cli, stream);
  } catch (error) {
    const failure = toCliError(error);
    throw failure.code === "daemon_unreachable"
      ? new CliError(
          failure.code,
          "the connection closed early; the export is incomplete, run it again",
          {
            cause: error,
            service: "vault",
          },
        )
      : error;
  } finally {
    stream.destroy();
  }
}
