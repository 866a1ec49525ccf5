import { type Command, Option } from "commander";
import type { z } from "zod";
import type { auditEntry, dailyExport } from "../../../../daemon/contract/vault/admin.ts";
import type { ByteDownload } from "../../../client/bytes.ts";
import { vault } from "../../../client/operations.ts";
import { vaultPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, toCliError } from "../../../errors.ts";
import { type Column, size, time } from "../../../output/cells.ts";
import { listOf } from "../../../output/spec.ts";
import { assertRawOutput, writeRaw } from "../../../support/raw-output.ts";
import type { CommandModule } from "../../../tree/entry.ts";

export const listAudit = {
  operations: [vault.listAudit],
  output: listOf(vault.listAudit, "items"),
  define(command, cli, run = runAuditList): void {
    addAuditFilter(command).action((flags: AuditFilterOptions) => run(cli, flags));
  },
} satisfies CommandModule;

/** Prints audit records, newest first. */
async function runAuditList(cli: CliContext, options: AuditFilterOptions): Promise<void> {
  const query = toAuditQuery(options);
  await cli.output.list(vaultPages(cli.client, vault.listAudit, { query }), auditColumns);
}

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

export const exportAudit = {
  operations: [vault.exportAudit],
  output: { kind: "bytes" },
  define(command, cli, run = runAuditExport): void {
    addAuditFilter(command).action((flags: AuditFilterOptions) => run(cli, flags));
  },
} satisfies CommandModule;

/** Writes audit records as CSV to standard output, oldest first. */
async function runAuditExport(cli: CliContext, options: AuditFilterOptions): Promise<void> {
  const query = { ...toAuditQuery(options), format: "csv" } as const;
  await writeCsv(cli, () => cli.client.download(vault.exportAudit, { query }));
}

export const listDailyExports = {
  operations: [vault.listDailyExports],
  output: listOf(vault.listDailyExports, "items"),
  define(command, cli, run = runAuditDailyList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the days whose audit records are stored as files, newest first. */
async function runAuditDailyList(cli: CliContext): Promise<void> {
  await cli.output.list(vaultPages(cli.client, vault.listDailyExports, { query: {} }), columns);
}

const columns: readonly Column<z.output<typeof dailyExport>>[] = [
  { header: "day", cell: ({ date }) => date },
  { header: "size", cell: ({ size_bytes: bytes }) => size(bytes) },
];

interface AuditDailyDownloadOptions {
  readonly day: string;
}

export const downloadDailyExport = {
  operations: [vault.downloadDailyExport],
  output: { kind: "bytes" },
  define(command, cli, run = runAuditDailyDownload): void {
    command
      .argument("<day>", "such as 2026-11-20, in UTC")
      .action((day: string) => run(cli, { day }));
  },
} satisfies CommandModule;

/** Writes the stored audit records of one day as CSV to standard output. */
async function runAuditDailyDownload(
  cli: CliContext,
  { day }: AuditDailyDownloadOptions,
): Promise<void> {
  await writeCsv(cli, () =>
    cli.client.download(vault.downloadDailyExport, { params: { date: day } }),
  );
}

const eventPrefixes = ["auth", "cloud", "document", "share", "admin", "system"] as const;

/** Filters of audit records, as the flags give them. */
export interface AuditFilterOptions {
  readonly user?: string;
  readonly event?: (typeof eventPrefixes)[number];
  readonly from?: string;
  readonly to?: string;
}

/** Adds the flags that filter audit records. */
function addAuditFilter(command: Command): Command {
  return command
    .option("--user <handle>", "only records about this user")
    .addOption(new Option("--event <kind>", "only events of this kind").choices(eventPrefixes))
    .option("--from <time>", "only from this time on, such as 2026-11-20 or 2026-11-20T09:30:00Z")
    .option("--to <time>", "only before this time");
}

/** Converts the flags to a query. */
function toAuditQuery({ user, event, from, to }: AuditFilterOptions) {
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
