import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CliEnvironment } from "../environment.ts";
import type { Profiles } from "../profile/profiles.ts";
import type { System } from "../system.ts";
import { CliError } from "../errors.ts";
import { readTextFile } from "../profile/config-file.ts";
import { parseObject } from "../support/json.ts";

/** The contents of `daemon.json` in the data directory of a running daemon. */
export interface DaemonNotice {
  readonly pid: number;
  /** Distinguishes the process from a later one with the same id; undefined on systems without start times. */
  readonly mark: string | undefined;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Its addresses on this machine, http first; empty while it starts. */
  readonly urls: readonly string[];
}

/** The daemon that requests go to. */
export interface Target {
  /** Origin (and base path, behind a proxy) without a trailing slash. */
  readonly url: string;
  readonly isLoopback: boolean;
  /**
   * Set if no request may be sent: the address belongs to this home's own daemon, which is not running. Another
   * process may listen there and must not receive passwords and tokens.
   */
  readonly absence?: CliError;
}

type TargetDeps = Pick<CliEnvironment, "config" | "flags" | "system"> & {
  readonly profiles: Pick<Profiles, "inUse">;
};

/**
 * Returns the daemon of this run. In order of precedence: `--url`, the profile that `--profile` names, `CROFT_URL`,
 * the profile in use, the config file, the daemon that runs on this home's data, where it would listen.
 */
export async function findTarget(cli: TargetDeps): Promise<Target> {
  const config = await cli.config();
  const profile = await cli.profiles.inUse();
  const candidates = [
    config.urlSource === "flag" ? config.url : undefined,
    cli.flags.profile === undefined ? undefined : profile.url,
    config.urlSource === "environment" ? config.url : undefined,
    profile.url,
    config.url,
  ];
  const named = candidates.find((candidate) => candidate !== null && candidate !== undefined);
  if (named !== undefined && named !== null) return toTarget(named);
  const { dataDirectory } = config.paths;
  const notice = findDaemonNotice(dataDirectory, cli.system);
  const url = notice?.urls[0];
  if (url !== undefined) return toTarget(url);
  const usual = toTarget(config.defaultUrl);
  return isDaemonHome(dataDirectory)
    ? { ...usual, absence: toAbsence(dataDirectory, notice !== undefined) }
    : usual;
}

/** The target's address, for sending something there. @throws CliError its absence */
export function addressOf({ url, absence }: Target): string {
  if (absence !== undefined) throw absence;
  return url;
}

/** Returns whether a daemon was ever started on this folder. */
function isDaemonHome(dataDirectory: string): boolean {
  return existsSync(join(dataDirectory, "croft.lock"));
}

function toAbsence(dataDirectory: string, isStarting: boolean): CliError {
  return isStarting
    ? new CliError("daemon_unreachable", `the daemon on ${dataDirectory} is still starting`, {
        hint: '"croft daemon wait" waits for it',
      })
    : new CliError("daemon_unreachable", `no daemon runs on ${dataDirectory}`, {
        hint: '"croft daemon start" starts it; --url or CROFT_URL names one elsewhere',
      });
}

/** The target at an address. */
export function toTarget(url: string): Target {
  const trimmed = url.replace(/\/+$/, "");
  return { url: trimmed, isLoopback: isLoopbackHost(new URL(trimmed).hostname) };
}

/** The notice of the daemon that runs on this data directory; undefined when no daemon runs. */
export function findDaemonNotice(
  dataDirectory: string,
  system: NoticeSystem,
): DaemonNotice | undefined {
  const notice = parseNotice(readTextFile(join(dataDirectory, "daemon.json")));
  // After a crash the file names a daemon that has ended, and its port may belong to another program.
  return notice !== undefined && isAlive(notice, system) ? notice : undefined;
}

/** Whether the daemon's process runs, and not a later one with its id. */
export function isAlive({ pid, mark }: DaemonNotice, system: NoticeSystem): boolean {
  if (!system.isProcessAlive(pid)) return false;
  const found = mark === undefined ? undefined : system.processMark(pid);
  return found === undefined || found === mark;
}

type NoticeSystem = Pick<System, "isProcessAlive" | "processMark">;

function parseNotice(text: string | undefined): DaemonNotice | undefined {
  if (text === undefined) return undefined;
  // A file that is being written or has other contents is treated as missing.
  const { pid, process_mark: mark, started_at: startedAt, urls } = parseObject(text) ?? {};
  if (typeof pid !== "number" || typeof startedAt !== "number" || !Array.isArray(urls))
    return undefined;
  return {
    pid,
    mark: typeof mark === "string" ? mark : undefined,
    startedAt,
    urls: urls.filter((url) => typeof url === "string").map(toReachable),
  };
}

/** A daemon that listens on all addresses is reached on loopback, where its credentials are valid as well. */
function toReachable(url: string): string {
  return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
}

/** Whether a host name is loopback. Requests to loopback never go through a proxy. */
export function isLoopbackHost(hostname: string): boolean {
  const name = hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    name === "::1" ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name)
  );
}
