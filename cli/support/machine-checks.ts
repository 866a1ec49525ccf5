// Checks of `croft doctor` on what the daemon of this home needs from its machine.
import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { CliContext } from "../context.ts";
import { CliError, toCliError } from "../errors.ts";
import { readAllSettings } from "../profile/settings.ts";
import { readGit } from "./git.ts";
import { findInstalledService, runServiceManager } from "./service-control.ts";

/** A check that found a problem which does not break anything yet. */
export interface Warning {
  readonly warning: string;
  readonly hint: string;
}

/** The oldest git with `merge-tree --write-tree`. */
const GIT_MIN = [2, 38] as const;
const MIB = 1024 * 1024;
/** With less the database cannot grow, and the daemon refuses changes. */
const SPACE_MIN = 64 * MIB;
const SPACE_WARNING = 1024 * MIB;
const DAY_MS = 86_400_000;
const CERTIFICATE_WARNING_DAYS = 14;

/** Reports the version of git. @throws CliError when the daemon cannot use it */
export async function checkGit(cli: CliContext): Promise<string> {
  const { dataDirectory } = readAllSettings(cli.system, cli.flags, {}).paths;
  if (!existsSync(dataDirectory)) return "not needed here: this home has no data";
  const { out } = await readGit(cli, ["--version"]);
  const [, version = ""] = /(\d+\.\d+(?:\.\d+)?)/.exec(out) ?? [];
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < GIT_MIN[0] || (major === GIT_MIN[0] && minor < GIT_MIN[1]))
    throw new CliError("unsupported", `git ${version} is too old`, {
      hint: `install git ${GIT_MIN.join(".")} or later`,
    });
  return `git ${version}`;
}

/** Reports the free space of the disk of this home. @throws CliError when the daemon cannot write */
export async function checkSpace(cli: CliContext): Promise<string | Warning> {
  const { dataDirectory } = readAllSettings(cli.system, cli.flags, {}).paths;
  if (!existsSync(dataDirectory)) return "not needed here: this home has no data";
  const { bavail, bsize } = await statfs(dataDirectory);
  const free = bavail * bsize;
  const text = `${Math.floor(free / MIB).toLocaleString("en")} MiB free for ${dataDirectory}`;
  const hint = "delete something, or move the home to a larger disk (croft help backups)";
  if (free < SPACE_MIN) throw new CliError("storage_unusable", text, { hint });
  return free < SPACE_WARNING ? { warning: text, hint } : text;
}

/** Reports the end of a configured certificate. @throws CliError when it has ended or cannot be read */
export async function checkCertificate(cli: CliContext): Promise<string | Warning> {
  const { tls } = readAllSettings(cli.system, cli.flags, {}).settings;
  if (tls.kind === "off") return "https is off";
  if (tls.kind === "self") return "made and renewed by the daemon";
  const { certificateFile } = tls;
  const hint = "replace the files; a running daemon serves the new ones within a minute";
  let end: Date;
  try {
    end = new X509Certificate(await readFile(certificateFile)).validToDate;
  } catch {
    throw new CliError("storage_unusable", `${certificateFile} holds no certificate`, { hint });
  }
  const text = `${certificateFile} ends on ${end.toISOString().slice(0, 10)}`;
  const left = end.getTime() - cli.system.clock();
  if (left <= 0) throw new CliError("storage_unusable", `${text}, which has passed`, { hint });
  return left < CERTIFICATE_WARNING_DAYS * DAY_MS ? { warning: text, hint } : text;
}

/** Where systemd notes the users whose services run without a session. */
const LINGERING_USERS = "/var/lib/systemd/linger";

/** Reports whether the daemon of this home, or of the machine, is a service, and when that starts. */
export async function checkService(cli: CliContext): Promise<string | Warning> {
  const ofUser = await findInstalledService(cli);
  const service = ofUser ?? (await findInstalledService(cli, "system"));
  if (service === undefined)
    return 'the daemon is not a service; "croft daemon install" makes it one';
  const unreachable = await failureOf(cli, service.probe);
  if (unreachable !== undefined)
    return {
      warning: `whether ${service.path} starts by itself is not known (${unreachable})`,
      hint: "ask in a session of the user that has the service",
    };
  if ((await failureOf(cli, service.isEnabled)) !== undefined)
    return {
      warning: `${service.path} is installed, but does not start by itself`,
      hint: 'run "croft daemon install" again',
    };
  if (ofUser === undefined) return `${service.path} starts with the machine`;
  const { USER, LOGNAME } = cli.system.env;
  const name = USER ?? LOGNAME;
  if (service.startAtBoot === undefined) return `${service.path} starts when you sign in`;
  if (name !== undefined && existsSync(join(LINGERING_USERS, name)))
    return `${service.path} starts with the machine`;
  return {
    warning: `${service.path} starts when you sign in, and ends with your last session`,
    hint: `"sudo loginctl enable-linger ${name ?? "YOUR-NAME"}" lets it start with the machine`,
  };
}

/** Why a program of the service manager fails; undefined when it succeeds, and where there is none to ask. */
async function failureOf(
  cli: CliContext,
  words: readonly string[] | undefined,
): Promise<string | undefined> {
  try {
    if (words !== undefined) await runServiceManager(cli, words);
    return undefined;
  } catch (error) {
    if (cli.signal.aborted) throw error;
    return toCliError(error).message;
  }
}

/** Counts the files of inbox folders that were refused. */
export async function checkInboxes(cli: CliContext): Promise<string | Warning> {
  const { paths, settings } = readAllSettings(cli.system, cli.flags, {});
  if (!settings.inbox) return "off: no folder of this machine is taken in";
  const folder = join(paths.dataDirectory, "inbox");
  const entries = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    // The daemon makes the folder with its first look.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  });
  const refused = entries.filter((entry) => entry.endsWith(".error.txt")).length;
  if (refused === 0) return `${folder}/HANDLE is taken in for each vault account`;
  return {
    warning: `${refused} ${refused === 1 ? "file was" : "files were"} not taken in`,
    hint: `the files that end in .error.txt in ${folder} say why; a file is tried again when its reason is deleted`,
  };
}
