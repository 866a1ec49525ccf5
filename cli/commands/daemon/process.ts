import { clientHeaders } from "../../client/client.ts";
import {
  addressOf,
  findDaemonNotice,
  findTarget,
  isAlive,
  type Target,
} from "../../client/target.ts";
import { createTransport, createTrust } from "../../client/transport.ts";
import type { CliContext } from "../../context.ts";
import { CliError, DryRun, exitCodeOf, usageError } from "../../errors.ts";
import { type Column, time } from "../../output/cells.ts";
import { type FieldType, shape, toFieldSchema } from "../../output/spec.ts";
import { commandDetails } from "../../tree/command.ts";

/** The state of a running daemon. */
interface DaemonStatus {
  readonly running: boolean;
  /** False while it starts or stops. */
  readonly ready: boolean;
  readonly url: string;
  /** Null for a daemon on another machine. */
  readonly pid: number | null;
  readonly started_at: string | null;
  /** `full` when the daemon has released its disk reserve. */
  readonly disk: "full" | null;
}

const statusFields: Readonly<Record<Exclude<keyof DaemonStatus, "running">, FieldType>> = {
  ready: "boolean",
  url: "string",
  pid: "integer?",
  started_at: "string?",
  disk: "string?",
};

export const statusDaemon = commandDetails({
  output: {
    kind: "shape",
    list: false,
    paged: false,
    schema: {
      type: "object",
      // For a stopped daemon only `running` has a value.
      properties: Object.fromEntries(
        Object.entries({ running: "boolean" as const, ...statusFields }).map(([name, type]) => [
          name,
          toFieldSchema(type),
        ]),
      ),
      required: ["running"],
      additionalProperties: true,
    },
  },
  examples: [
    ["Show whether the daemon runs", "croft daemon status"],
    ["Print its process id", "croft daemon status --jq .pid"],
  ],
  /**
   * Prints the state of the daemon. Without a daemon, machine modes print `{"running": false}` with exit code 10.
   * @throws CliError `daemon_unreachable` when a daemon that was named, or whose process runs, does not answer
   */
  async run(cli) {
    try {
      const status = await readStatus(cli);
      await cli.output.resource(status, status.disk === null ? statusColumns : fullDiskColumns);
    } catch (error) {
      if (!cli.output.isMachine || !(error instanceof CliError)) throw error;
      if (error.code !== "daemon_unreachable" || !(await isKnownStopped(cli))) throw error;
      await cli.output.done({ running: false }, "");
      cli.finishWith(exitCodeOf(error));
    }
  },
});

/** Returns whether requests go to this home's own daemon and its process is not running. */
async function isKnownStopped(cli: CliContext): Promise<boolean> {
  const { paths, defaultUrl } = await cli.config();
  if (findDaemonNotice(paths.dataDirectory, cli.system) !== undefined) return false;
  const { url, absence } = await findTarget(cli);
  return absence !== undefined || url === defaultUrl;
}

/** The state of the daemon that requests go to. */
async function readStatus(cli: CliContext): Promise<DaemonStatus> {
  const { url } = await cli.client.target();
  const { status, body } = await cli.client.probe("/readyz");
  const { paths } = await cli.config();
  const notice = findDaemonNotice(paths.dataDirectory, cli.system);
  // The notice is about this home's daemon, which need not be the one that answered.
  const own = notice?.urls.includes(url) === true ? notice : undefined;
  return {
    running: true,
    ready: status === 200,
    url,
    pid: own?.pid ?? null,
    started_at: own === undefined ? null : new Date(own.startedAt).toISOString(),
    disk: /"disk":\s*"full"/.test(body.toString()) ? "full" : null,
  };
}

const statusColumns: readonly Column<DaemonStatus>[] = [
  { header: "running", cell: ({ running }) => running },
  { header: "ready", cell: ({ ready }) => ready },
  { header: "url", cell: ({ url }) => url },
  { header: "pid", cell: ({ pid }) => pid },
  { header: "started", cell: (status) => time(status.started_at) },
];

const fullDiskColumns: readonly Column<DaemonStatus>[] = [
  ...statusColumns,
  { header: "disk", cell: ({ disk }) => disk },
];

export const stopDaemon = commandDetails({
  flags: {
    "--timeout <seconds>": { help: "how long to wait for its end", parse: toSeconds, default: 60 },
  },
  output: shape({ stopped: "boolean", pid: "integer?", data: "string" }),
  writes: true,
  examples: [
    ["Stop the daemon", "croft daemon stop"],
    ["Give it two minutes to finish requests", "croft daemon stop --timeout 120"],
  ],
  /**
   * Stops the daemon of this home and waits until its process has ended. Does nothing when no daemon runs.
   * @throws CliError `not_finished` when it has not ended in time
   */
  async run(cli, { timeout }) {
    const { dataDirectory: data } = (await cli.config()).paths;
    const pid = await endDaemon(cli, timeout);
    if (pid === undefined)
      return cli.output.done({ stopped: false, pid: null, data }, `No daemon runs on ${data}.`);
    await cli.output.done({ stopped: true, pid, data }, `Stopped the daemon (process ${pid}).`);
  },
});

const stopPollMs = 50;

/**
 * Stops the daemon of this home and waits for the end of its process. Returns its id; undefined when no daemon ran.
 * @throws CliError `not_finished` when the process has not ended in time
 */
export async function endDaemon(
  cli: CliContext,
  timeoutSeconds: number,
): Promise<number | undefined> {
  const { dataDirectory: data } = (await cli.config()).paths;
  const notice = findDaemonNotice(data, cli.system);
  if (notice === undefined) return undefined;
  const { pid } = notice;
  if (cli.flags.dryRun) throw new DryRun({ stop: { pid, data } });
  cli.system.stopProcess(pid);
  const deadline = cli.clock() + timeoutSeconds * 1000;
  while (isAlive(notice, cli.system)) {
    if (cli.clock() > deadline)
      throw new CliError("not_finished", `process ${pid} has not ended within ${timeoutSeconds} s`);
    await cli.system.sleep(stopPollMs, cli.signal);
  }
  return pid;
}

export const waitDaemon = commandDetails({
  flags: { "--timeout <seconds>": { help: "how long to wait", parse: toSeconds, default: 30 } },
  output: shape({ ready: "boolean", url: "string" }),
  examples: [
    ["Wait until the daemon accepts requests", "croft daemon wait"],
    ["Wait a minute at most, in a script", "croft daemon wait --timeout 60 --quiet"],
  ],
  /**
   * Waits until the daemon accepts requests. Each attempt resolves the address: a starting daemon publishes it late.
   * @throws CliError `daemon_unreachable` when nothing answered in time, `not_finished` when it was not ready yet
   */
  async run(cli, { timeout: timeoutSeconds }) {
    const { send } = createTransport(cli.system, () => createTrust(cli)());
    const deadline = cli.clock() + timeoutSeconds * 1000;
    for (;;) {
      const target = await findTarget(cli);
      const { url } = target;
      const status = await ask(target).catch((error: unknown) => {
        if (error instanceof CliError && error.code === "daemon_unreachable") return error;
        throw error;
      });
      if (status === 200)
        return cli.output.done({ ready: true, url }, `The daemon at ${url} accepts requests.`);
      if (cli.clock() > deadline) {
        if (status instanceof CliError) throw status;
        throw new CliError("not_finished", `the daemon at ${url} is not ready yet`);
      }
      await cli.system.sleep(waitPollMs, cli.signal);
    }

    async function ask(target: Target): Promise<number> {
      const { status } = await send({
        method: "GET",
        url: `${addressOf(target)}/readyz`,
        headers: clientHeaders,
        body: undefined,
        signal: cli.signal,
      });
      return status;
    }
  },
});

const waitPollMs = 100;

/** A whole number of seconds. */
export function toSeconds(value: string): number {
  if (!/^\d{1,6}$/.test(value))
    throw usageError(`--timeout takes whole seconds, not ${JSON.stringify(value)}`);
  return Number(value);
}
