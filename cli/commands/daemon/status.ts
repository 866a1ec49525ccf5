import type { Command } from "commander";
import { findDaemonNotice } from "../../client/target.ts";
import type { CliContext } from "../../context.ts";
import { type Column, time } from "../../output/cells.ts";
import { type FieldType, shape } from "../../output/spec.ts";

/** What is known of a daemon that answers. */
export interface DaemonStatus {
  readonly running: boolean;
  /** False while it starts or stops. */
  readonly ready: boolean;
  readonly url: string;
  /** Null when it runs elsewhere. */
  readonly pid: number | null;
  readonly started_at: string | null;
}

const statusFields: Readonly<Record<keyof DaemonStatus, FieldType>> = {
  running: "boolean",
  ready: "boolean",
  url: "string",
  pid: "integer?",
  started_at: "string?",
};

export const operations = [] as const;
export const output = shape(statusFields);

export function define(command: Command, cli: CliContext, run = runDaemonStatus): void {
  command.action(() => run(cli));
}

/** Asks the daemon how it is. @throws CliError `daemon_unreachable` when it does not answer */
async function runDaemonStatus(cli: CliContext): Promise<void> {
  await cli.output.resource(await readStatus(cli), statusColumns);
}

/** The state of the daemon that requests go to. */
async function readStatus(cli: CliContext): Promise<DaemonStatus> {
  const { url } = await cli.client.target();
  const { status } = await cli.client.probe("/readyz");
  const { paths } = await cli.config();
  const notice = findDaemonNotice(paths.dataDirectory, cli.system);
  // The notice is of this home's daemon, which need not be the one that was asked.
  const own = notice?.urls.includes(url) === true ? notice : undefined;
  return {
    running: true,
    ready: status === 200,
    url,
    pid: own?.pid ?? null,
    started_at: own === undefined ? null : new Date(own.startedAt).toISOString(),
  };
}

const statusColumns: readonly Column<DaemonStatus>[] = [
  { header: "running", cell: ({ running }) => running },
  { header: "ready", cell: ({ ready }) => ready },
  { header: "url", cell: ({ url }) => url },
  { header: "pid", cell: ({ pid }) => pid },
  { header: "started", cell: (status) => time(status.started_at) },
];
