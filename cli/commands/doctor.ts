import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { LATE_ADDRESSES } from "../../daemon/contract/forge/rules.ts";
import { forge } from "../client/operations.ts";
import { findDaemonNotice } from "../client/target.ts";
import type { CliContext } from "../context.ts";
import { CliError, toCliError } from "../errors.ts";
import type { Io } from "../io.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { sanitizeLine } from "../output/sanitize.ts";
import { unpagedList } from "../output/spec.ts";
import { breakWords } from "../output/width.ts";
import { probeStore, createMachineKeyring } from "../profile/stores.ts";
import { BACKUP_LOG_HINT, readBackupState } from "../support/backup-state.ts";
import { parseObject } from "../support/json.ts";
import type { Warning } from "../support/machine-checks.ts";
import { commandDetails } from "../tree/command.ts";

/** The result of one check. */
interface Finding {
  readonly check: string;
  readonly status: "ok" | "warning" | "failed";
  readonly message: string;
  readonly hint: string | null;
}

export const doctor = commandDetails({
  flags: { "--check": "exit with code 1 when something is broken" },
  calls: [forge.forgeVersion, forge.getUser],
  output: unpagedList({
    check: "string",
    status: { enum: ["ok", "warning", "failed"] },
    message: "string",
    hint: "string?",
  }),
  examples: [
    ["Diagnose problems", "croft doctor"],
    ["Fail when something is broken, in a script", "croft doctor --check --quiet"],
  ],
  /**
   * Checks everything that commands depend on and prints the findings. @throws CliError `checks_failed` with `--check`,
   * when a check failed
   */
  async run(cli, { check = false }) {
    const findings: Finding[] = [];
    for (const [name, runCheck] of checks) {
      const finding = await examine(cli, name, runCheck);
      const [settings] = findings;
      // Every later check reads the settings first and fails with the same message.
      if (settings?.status === "failed" && settings.message === finding.message)
        findings.push({ ...finding, message: "the settings cannot be read", hint: null });
      else findings.push(finding);
    }
    const broken = findings.filter(({ status }) => status === "failed");
    if (check && broken.length > 0)
      throw new CliError(
        "checks_failed",
        broken.map((finding) => `${finding.check}: ${finding.message}`).join("; "),
      );
    if (!cli.output.isMachine && cli.io.isOutputTerminal)
      return cli.io.write(toReport(findings, cli.io));
    await cli.output.list(wholeList(findings), columns);
  },
});

const columns: readonly Column<Finding>[] = [
  { header: "check", cell: ({ check }) => check },
  { header: "status", cell: ({ status }) => status },
  { header: "message", cell: ({ message }) => message },
  { header: "hint", cell: ({ hint }) => hint },
];

/** Formats findings for a terminal. Lines are wrapped, never truncated, because they name paths and commands. */
function toReport(findings: readonly Finding[], { columns: width, style }: Io): string {
  const paint = { ok: style.green, warning: style.yellow, failed: style.red };
  const nameWidth = Math.max(...findings.map(({ check }) => check.length));
  const beside = "warning".length + nameWidth + 4;
  const isNarrow = beside > width / 2;
  const indent = isNarrow ? 2 : beside;
  const lines = findings.flatMap(({ check, status, message, hint }) => {
    const head = `${paint[status](status.padEnd("warning".length))}  ${check.padEnd(nameWidth)}`;
    const wrap = (text: string | null) =>
      text === null || text === "" ? [] : breakWords(sanitizeLine(text), width - indent);
    const texts = [...wrap(message), ...wrap(hint).map(style.dim)];
    const below = (text: string) => " ".repeat(indent) + text;
    if (isNarrow) return [head, ...texts.map(below)];
    return [`${head}  ${texts[0] ?? ""}`, ...texts.slice(1).map(below)];
  });
  return lines.map((line) => `${line}\n`).join("");
}

/** One check: returns its finding or throws. */
type Check = (cli: CliContext) => Promise<string | Warning>;

// Loaded on demand, as they load the settings of the daemon.
const machineChecks = () => import("../support/machine-checks.ts");

const checks: readonly (readonly [string, Check])[] = [
  ["settings", checkSettings],
  ["profile", checkProfile],
  ["keyring", checkKeyring],
  ["credentials", checkStore],
  ["master key", checkMasterKey],
  ["git", async (cli) => (await machineChecks()).checkGit(cli)],
  ["disk", async (cli) => (await machineChecks()).checkSpace(cli)],
  ["certificate", async (cli) => (await machineChecks()).checkCertificate(cli)],
  ["service", async (cli) => (await machineChecks()).checkService(cli)],
  ["daemon", checkDaemon],
  ["backups", checkBackups],
  ["inboxes", async (cli) => (await machineChecks()).checkInboxes(cli)],
  ["names", checkNames],
  ["forge", (cli) => checkSignIn(cli, "forge")],
  ["vault", (cli) => checkSignIn(cli, "vault")],
];

async function examine(cli: CliContext, name: string, check: Check): Promise<Finding> {
  try {
    const found = await check(cli);
    return typeof found === "string"
      ? { check: name, status: "ok", message: found, hint: null }
      : { check: name, status: "warning", message: found.warning, hint: found.hint };
  } catch (error) {
    if (cli.signal.aborted) throw error;
    const failure = toCliError(error);
    const hint = failure.details.hint ?? null;
    return { check: name, status: "failed", message: failure.message, hint };
  }
}

async function checkSettings(cli: CliContext): Promise<string> {
  const { readAllSettings } = await import("../profile/settings.ts");
  const { values, paths } = readAllSettings(cli.system, cli.flags, {});
  const changed = values.filter(({ source }) => source !== "default").length;
  return `${paths.configFile} and the environment are in order; settings that are not the default: ${changed}`;
}

async function checkProfile(cli: CliContext): Promise<string> {
  const { name } = await cli.profiles.inUse();
  const { url } = await cli.client.target();
  return `${name}, for ${url}`;
}

async function checkKeyring(cli: CliContext): Promise<string | Warning> {
  try {
    await probeStore(createMachineKeyring(cli), Buffer.from(cli.system.random(16)).toString("hex"));
    return "stores secrets";
  } catch (error) {
    return {
      warning: toCliError(error).message,
      hint: "credentials are kept in files of mode 0600",
    };
  }
}

async function checkStore(cli: CliContext): Promise<string | Warning> {
  const profile = await cli.profiles.inUse();
  const { kind } = await cli.credentials.storeOf(profile);
  if (profile.store === null) return "none are stored yet";
  return kind === "keyring"
    ? "in the keyring"
    : {
        warning: "in files of mode 0600",
        hint: "sign in again with --credential-store keyring to move them",
      };
}

/** Reports the place of the master key of this home, and whether the key exists. */
async function checkMasterKey(cli: CliContext): Promise<string | Warning> {
  const { readAllSettings } = await import("../profile/settings.ts");
  const { paths, settings } = readAllSettings(cli.system, cli.flags, {});
  const folder = join(paths.dataDirectory, "keys");
  const record = await readKeyRecord(join(folder, "master.json"));
  if (record === undefined) return "made by the first start";
  if (settings.masterKey !== undefined) return "in CROFT_MASTER_KEY or its file";
  const missing = (where: string, hint: string) =>
    new CliError("storage_unusable", `the master key is not in ${where}: the daemon cannot start`, {
      hint,
    });
  const elsewhere = "or name a file with it in CROFT_MASTER_KEY_FILE";
  if (record.source === "environment")
    throw missing("the environment", "set CROFT_MASTER_KEY_FILE, for a service in its unit file");
  if (record.source === "file") {
    const path = join(folder, "master.key");
    if (!existsSync(path)) throw missing(path, `copy it there from where it is kept, ${elsewhere}`);
    return `in ${path}`;
  }
  const storedKey = await createMachineKeyring(cli)
    .get(record.account)
    .catch(() => undefined);
  if (storedKey === undefined)
    throw missing("the system's keyring", `unlock the keyring by signing in, ${elsewhere}`);
  return {
    warning: "in the system's keyring; a service that starts at boot waits until it is unlocked",
    hint: '"croft daemon backup FILE --with-keys" and "croft daemon restore FILE --with-keys" move it into a file',
  };
}

async function readKeyRecord(
  path: string,
): Promise<{ readonly source: string; readonly account: string } | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const { source, account } = parseObject(text) ?? {};
  return { source: String(source), account: String(account) };
}

async function checkDaemon(cli: CliContext): Promise<string | Warning> {
  const { url } = await cli.client.target();
  const { status, body: readiness } = await cli.client.probe("/readyz");
  const { paths } = await cli.config();
  const notice = findDaemonNotice(paths.dataDirectory, cli.system);
  const where = notice === undefined ? "" : ` (process ${notice.pid})`;
  if (status === 200) {
    if (/"objects":\s*"unreachable"/.test(readiness.toString()))
      return {
        warning: `${url} accepts requests${where}, but cannot reach the bucket of its objects`,
        hint: "packages cannot be stored or read; the daemon's log has the reason",
      };
    const { body } = await cli.client.call(forge.forgeVersion, {}, { authorization: "none" });
    return `${url} accepts requests${where}, forge API ${body.version}`;
  }
  if (/"jobs":\s*"stalled"/.test(readiness.toString()))
    throw new CliError("server_error", `${url} answers${where}, but runs no jobs`, {
      hint: "mail, webhooks, workflows and schedules wait until its database can be written; the daemon's log has the reason",
    });
  return {
    warning: `${url} answers, but is not ready${where}`,
    hint: '"croft daemon wait" waits for it',
  };
}

/** Reports the latest scheduled backup. That of a daemon elsewhere counts even when this home schedules none. */
async function checkBackups(cli: CliContext): Promise<string | Warning> {
  const { readAllSettings } = await import("../profile/settings.ts");
  const { settings } = readAllSettings(cli.system, cli.flags, {});
  const { backupFolder, backupUrl, backupSchedule } = settings;
  const isScheduled = backupFolder !== undefined || backupUrl !== undefined;
  // The check of the daemon reports that it cannot be reached.
  const state = await readBackupState(cli).catch(() => undefined);
  switch (state) {
    case "failed":
      return { warning: "the latest scheduled backup failed", hint: BACKUP_LOG_HINT };
    case "interrupted":
      return {
        warning: "the latest scheduled backup was interrupted",
        hint: '"croft admin cron run backup_home" makes another one',
      };
    case "succeeded":
    case "running":
      return `the latest scheduled backup ${state === "running" ? "is being made" : "succeeded"}`;
    case undefined:
      return isScheduled
        ? `scheduled (${backupSchedule}); the daemon reports none yet`
        : 'none are scheduled; "croft help backups" explains how';
  }
}

/** Looks for accounts from before these names were reserved: they work, but an address of the server hides their pages. */
async function checkNames(cli: CliContext): Promise<string | Warning> {
  const isSignedIn = await cli.client.authorizer.authorization("forge").then(
    () => true,
    // The check of the sign-in reports every other failure.
    () => false,
  );
  const taken: string[] = [];
  for (const username of LATE_ADDRESSES) {
    const options = isSignedIn ? {} : ({ authorization: "none" } as const);
    // Names ignore case, and addresses do not: `/users/search` is another operation.
    const params = { username: username.toUpperCase() };
    const found = await cli.client.call(forge.getUser, { params }, options).then(
      () => true,
      (error: unknown) => {
        if (toCliError(error).code === "not_found") return false;
        return undefined;
      },
    );
    // Another check reports why the daemon does not answer.
    if (found === undefined) return "not known: the daemon does not tell";
    if (found) taken.push(username);
  }
  const [first] = taken;
  if (first === undefined) return "no account has a name that is an address of the server";
  return {
    warning: `the server has pages of its own at ${taken.map((name) => `/${name}`).join(", ")}, and accounts have these names`,
    hint: `"croft admin user rename ${first} NEW-NAME" gives an account another name; git, its API and its tokens work with either`,
  };
}

async function checkSignIn(cli: CliContext, service: "forge" | "vault"): Promise<string | Warning> {
  const path = service === "forge" ? "/api/v1/user" : "/api/auth/me";
  try {
    await cli.client.authorizer.authorization(service);
  } catch (error) {
    const failure = toCliError(error);
    if (failure.code !== "not_signed_in") throw error;
    return { warning: failure.message, hint: failure.details.hint ?? "" };
  }
  const { failureOf } = await import("../client/outcomes.ts");
  const request = { service, method: "GET", path, body: undefined, contentType: undefined };
  const answer = await cli.client.send(request);
  const failure = failureOf(service, answer);
  if (failure !== undefined) throw failure;
  return "signed in";
}
