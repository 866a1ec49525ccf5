import { type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb(
    "start",
    "Start the daemon in the background",
    async () => (await import("./start.ts")).startDaemon,
  ),
  verb(
    "status",
    "Show whether the daemon runs, and where",
    async () => (await import("./process.ts")).statusDaemon,
  ),
  verb(
    "stop",
    "Stop the daemon that runs on this home",
    async () => (await import("./process.ts")).stopDaemon,
  ),
  verb(
    "restart",
    "Stop the daemon and start it in the background",
    async () => (await import("./start.ts")).restartDaemon,
  ),
  verb(
    "wait",
    "Wait until the daemon accepts requests",
    async () => (await import("./process.ts")).waitDaemon,
  ),
  verb("logs", "Show the daemon's log", async () => (await import("./logs.ts")).daemonLogs),
  verb(
    "install",
    "Run the daemon as a service of your user",
    async () => (await import("./service.ts")).installService,
  ),
  verb(
    "uninstall",
    "Remove the service",
    async () => (await import("./service.ts")).uninstallService,
  ),
  verb(
    "check",
    "Check the database, objects, repositories and cache of the home",
    async () => (await import("./check.ts")).checkDaemon,
  ),
  verb(
    "recover-admin",
    "Make an account an active forge administrator again, offline",
    async () => (await import("./recover-admin.ts")).recoverAdmin,
  ),
  verb(
    "backup",
    "Back up the home to a file or a bucket",
    async () => (await import("./backup.ts")).backupDaemon,
  ),
  verb(
    "restore",
    "Restore the home from a backup, or its database from a copy",
    async () => (await import("./restore.ts")).restoreDaemon,
  ),
];
