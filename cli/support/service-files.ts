import { join } from "node:path";
import { startProcess } from "../../storage/start-process.ts";
import type { System } from "../system.ts";

/** The program and settings of a service of the operating system. */
export interface ServiceProgram {
  /** The program and its arguments. */
  readonly words: readonly string[];
  /** Environment variables that the service needs. */
  readonly env: Readonly<Record<string, string>>;
  /** The file for the daemon's standard error, such as a stack trace. */
  readonly errorLog: string;
  /** Distinguishes this service of a user from the first one. */
  readonly suffix?: string | undefined;
}

/** A service definition, and the commands that start and stop the service. */
export interface ServiceFile {
  readonly path: string;
  readonly text: string;
  /** `utf16` has a byte order mark and little-endian units. */
  readonly encoding: "utf8" | "utf16";
  /** The part of the text that names the program. */
  readonly command: string;
  /** Returns one argument of the program as the text has it. */
  readonly toArgument: (word: string) => string;
  /** Succeeds when the service manager can be reached; it changes nothing. */
  readonly probe?: readonly string[];
  /** Succeeds when the service starts by itself. */
  readonly isEnabled?: readonly string[];
  /** Makes a service of one user start with the machine, instead of when that user signs in. */
  readonly startAtBoot?: readonly string[];
  /** Registers the service and starts it. */
  readonly start: readonly (readonly string[])[];
  /** Starts the registered service, which does not run. */
  readonly resume: readonly string[];
  readonly stop: readonly (readonly string[])[];
  /** Commands to run after the file is removed. */
  readonly forget: readonly (readonly string[])[];
}

/** Returns the bytes of the file with a service definition. */
export function toFileBytes({ text, encoding }: Pick<ServiceFile, "text" | "encoding">): Buffer {
  return encoding === "utf8" ? Buffer.from(text) : Buffer.from(`\uFEFF${text}`, "utf16le");
}

/** Returns the text of such a file. */
export function fromFileBytes({ encoding }: Pick<ServiceFile, "encoding">, bytes: Buffer): string {
  return bytes.toString(encoding === "utf8" ? "utf8" : "utf16le");
}

/** A user who gets a service. */
export interface ServiceUser {
  readonly platform: NodeJS.Platform;
  readonly homeDirectory: string;
  readonly userId: number | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The definition for a platform: a systemd user unit, a launchd agent, a Windows task; undefined elsewhere. */
export function toServiceFile(user: ServiceUser, program: ServiceProgram): ServiceFile | undefined {
  switch (user.platform) {
    case "linux":
      return toSystemdUnit(user, program);
    case "darwin":
      return toLaunchAgent(user, program);
    case "win32":
      return toWindowsTask(user, program);
    default:
      return undefined;
  }
}

function toSystemdUnit({ homeDirectory, env }: ServiceUser, program: ServiceProgram): ServiceFile {
  const unitName = `${named("croft", "-", program)}.service`;
  const config = env["XDG_CONFIG_HOME"] || join(homeDirectory, ".config");
  const systemctl = (...words: readonly string[]) => ["systemctl", "--user", ...words];
  const variables = Object.entries(program.env).map(
    ([name, value]) => `Environment=${toUnitWord(`${name}=${value}`)}\n`,
  );
  const command = `ExecStart=${toUnitCommand(program.words)}\n`;
  return {
    path: join(config, "systemd", "user", unitName),
    encoding: "utf8",
    command,
    toArgument: toUnitArgument,
    text: toUnitText(command, variables.join(""), "default.target"),
    probe: systemctl("show", "--property=Version"),
    isEnabled: systemctl("is-enabled", "--quiet", unitName),
    startAtBoot: ["loginctl", "enable-linger"],
    start: [systemctl("daemon-reload"), systemctl("enable", "--now", unitName)],
    resume: systemctl("start", unitName),
    stop: [systemctl("disable", "--now", unitName)],
    forget: [systemctl("daemon-reload")],
  };
}

/** The account of a service for the whole machine. */
const SYSTEM_ACCOUNT = "croft";

/** The home of a service for the whole machine. */
export const SYSTEM_HOME = "/var/lib/croft";

/**
 * A systemd unit for the whole machine, which starts with it and runs as an account of its own. That account can write only
 * `home`, and read neither the homes of people nor the devices of the machine.
 */
export function toSystemService(
  home: string,
  program: Pick<ServiceProgram, "words" | "suffix">,
): ServiceFile {
  const unitName = `${named("croft", "-", { errorLog: "", env: {}, ...program })}.service`;
  const systemctl = (...words: readonly string[]) => ["systemctl", ...words];
  const command = `ExecStart=${toUnitCommand(program.words)}\n`;
  const folder =
    home === SYSTEM_HOME
      ? "StateDirectory=croft\nStateDirectoryMode=0700\n"
      : `ReadWritePaths=${toUnitWord(home)}\n`;
  const confinement = `User=${SYSTEM_ACCOUNT}
Group=${SYSTEM_ACCOUNT}
${folder}ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectHostname=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
CapabilityBoundingSet=
AmbientCapabilities=
`;
  return {
    path: join("/etc/systemd/system", unitName),
    encoding: "utf8",
    command,
    toArgument: toUnitArgument,
    text: toUnitText(command, confinement, "multi-user.target"),
    probe: systemctl("show", "--property=Version"),
    isEnabled: systemctl("is-enabled", "--quiet", unitName),
    start: [
      ["systemd-sysusers", "--inline", `u ${SYSTEM_ACCOUNT} - "croft" ${SYSTEM_HOME}`],
      systemctl("daemon-reload"),
      systemctl("enable", "--now", unitName),
    ],
    resume: systemctl("start", unitName),
    stop: [systemctl("disable", "--now", unitName)],
    forget: [systemctl("daemon-reload")],
  };
}

function toUnitText(command: string, more: string, target: string): string {
  return `[Unit]
Description=croft, a self-hosted forge and document vault
After=network.target
# A keyring that is locked until the user signs in makes the start fail: it is tried again.
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=all
${command}${more}Restart=on-failure
RestartSec=10
# Wrong settings do not change by themselves.
RestartPreventExitStatus=2
TimeoutStartSec=300
TimeoutStopSec=90
WatchdogSec=120
StandardOutput=null
StandardError=journal
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=${target}
`;
}

function toUnitArgument(word: string): string {
  return toUnitWord(word.replaceAll("$", "$$$$"));
}

/** The name of the first service of a user, or that of another one. */
function named(name: string, separator: string, { suffix }: ServiceProgram): string {
  return suffix === undefined ? name : `${name}${separator}${suffix}`;
}

/** The value of `ExecStart`. Variables are replaced in arguments, but not in the path of the program. */
function toUnitCommand([program = "", ...args]: readonly string[]): string {
  return [program, ...args.map((word) => word.replaceAll("$", "$$$$"))].map(toUnitWord).join(" ");
}

/** One word of a unit file: quoted, with specifiers as plain text. */
function toUnitWord(word: string): string {
  const plain = word.replaceAll("%", "%%");
  if (/^[\w@%+=:,./-]+$/.test(plain)) return plain;
  return `"${plain.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll("\n", String.raw`\n`)}"`;
}

function toLaunchAgent(
  { homeDirectory, userId = 0 }: ServiceUser,
  program: ServiceProgram,
): ServiceFile {
  const { words, env, errorLog } = program;
  const agentName = named("croft.daemon", ".", program);
  const path = join(homeDirectory, "Library", "LaunchAgents", `${agentName}.plist`);
  const string = (text: string) => `<string>${escapeXml(text)}</string>`;
  const variables = Object.entries(env).map(
    ([name, value]) => `    <key>${escapeXml(name)}</key>${string(value)}\n`,
  );
  const command = `<array>
${words.map((word) => `    ${string(word)}\n`).join("")}  </array>
`;
  return {
    path,
    encoding: "utf8",
    command,
    toArgument: string,
    text: `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>${string(agentName)}
  <key>ProgramArguments</key>
  ${command}  <key>EnvironmentVariables</key>
  <dict>
${variables.join("")}  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>10</integer>
  <key>ExitTimeOut</key><integer>90</integer>
  <key>Umask</key><integer>63</integer>
  <key>StandardErrorPath</key>${string(errorLog)}
</dict>
</plist>
`,
    start: [["launchctl", "bootstrap", `gui/${userId}`, path]],
    resume: ["launchctl", "kickstart", `gui/${userId}/${agentName}`],
    stop: [["launchctl", "bootout", `gui/${userId}/${agentName}`]],
    forget: [],
  };
}

/**
 * The Task Scheduler reads definitions in UTF-16 only. A trigger for the sign-in of any user needs an administrator, so the
 * task names its own user.
 */
function toWindowsTask({ homeDirectory, env }: ServiceUser, program: ServiceProgram): ServiceFile {
  const { words } = program;
  const taskName = named("croft", "-", program);
  const folder = env["LOCALAPPDATA"] || join(homeDirectory, "AppData", "Local");
  const path = join(folder, "croft", `${named("task", "-", program)}.xml`);
  const [file = "", ...args] = words;
  const { USERDOMAIN: domain = "", USERNAME: name = "" } = env;
  const account = escapeXml(domain === "" ? name : `${domain}\\${name}`);
  const user = name === "" ? "" : `<UserId>${account}</UserId>`;
  const command = `<Command>${escapeXml(file)}</Command>
      <Arguments>${escapeXml(args.map(toWindowsWord).join(" "))}</Arguments>
`;
  return {
    path,
    encoding: "utf16",
    command,
    toArgument: (word) => escapeXml(toWindowsWord(word)),
    text: `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers><LogonTrigger><Enabled>true</Enabled>${user}</LogonTrigger></Triggers>
  <Principals>
    <Principal id="Author">${user}<LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel></Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>255</Count></RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      ${command}    </Exec>
  </Actions>
</Task>
`,
    start: [
      ["schtasks", "/Create", "/F", "/TN", taskName, "/XML", path],
      ["schtasks", "/Run", "/TN", taskName],
    ],
    resume: ["schtasks", "/Run", "/TN", taskName],
    stop: [
      ["schtasks", "/End", "/TN", taskName],
      ["schtasks", "/Delete", "/F", "/TN", taskName],
    ],
    forget: [],
  };
}

/** One word of a Windows command line, as the C runtime parses it. */
function toWindowsWord(word: string): string {
  if (/^[\w.:\\/=-]+$/.test(word)) return word;
  return `"${word.replaceAll(/(\\*)"/g, String.raw`$1$1\"`).replace(/(\\+)$/, "$1$1")}"`;
}

function escapeXml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/**
 * Reports the state of the daemon to systemd with `systemd-notify`. Without systemd, every call does nothing. Reads
 * `NOTIFY_SOCKET` and `WATCHDOG_USEC` as sd_notify(3) and sd_watchdog_enabled(3) describe them.
 */
export function createServiceNotifier(
  { env, pid }: Pick<System, "env" | "pid">,
  notify: (words: readonly string[]) => void = runSystemdNotify(env),
) {
  const isService = (env["NOTIFY_SOCKET"] ?? "") !== "";
  const watchdogMs = Number(env["WATCHDOG_USEC"] ?? "0") / 1_000;
  const isWatched = isService && watchdogMs > 0 && (env["WATCHDOG_PID"] ?? `${pid}`) === `${pid}`;
  let timer: NodeJS.Timeout | undefined;
  return {
    /** Reports readiness and starts to answer the watchdog, until `stopping`. */
    ready() {
      if (!isService) return;
      notify(["--ready", `--pid=${pid}`]);
      // Sent from the event loop, so that systemd restarts a daemon whose loop is blocked.
      if (isWatched) timer = setInterval(() => notify(["WATCHDOG=1"]), watchdogMs / 2).unref();
    },
    stopping() {
      clearInterval(timer);
      if (isService) notify(["STOPPING=1"]);
    },
  };
}

function runSystemdNotify(env: System["env"]): (words: readonly string[]) => void {
  return (words) => {
    try {
      const stdio = ["ignore", "ignore", "ignore"] as const;
      startProcess("systemd-notify", words, { env, stdio }).child.unref();
    } catch {
      // The service manager reports that no notification arrived; a timer of the daemon must not end it.
    }
  };
}
