import { command } from "../../tree/command.ts";
import type { Entry } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  command(
    "start",
    "Start the daemon in the background",
    async () => (await import("./start.ts")).startDaemon,
  ),
  command(
    "status",
    "Show whether the daemon runs, and where",
    async () => (await import("./process.ts")).statusDaemon,
  ),
  command(
    "stop",
    "Stop the daemon that runs on this home",
    async () => (await import("./process.ts")).stopDaemon,
  ),
  command(
    "restart",
    "Stop the daemon and start it in the background",
    async () => (await import("./start.ts")).restartDaemon,
  ),
  command(
    "wait",
    "Wait until the daemon accepts requests",
    async () => (await import("./process.ts")).waitDaemon,
  ),
  command("logs", "Show the daemon's log", async () => (await import("./logs.ts")).daemonLogs),
  command(
    "install",
    "Run the daemon as a service of your user",
    async () => (await import("./service.ts")).installService,
  ),
  command(
    "uninstall",
    "Remove the service",
    async () => (await import("./service.ts")).uninstallService,
  ),
  command(
    "check",
    "Check the database, objects, repositories and cache of the home",
    async () => (await import("./check.ts")).checkDaemon,
  ),
  command(
    "gc",
    "Delete the bytes of deleted files at once, offline",
    async () => (await import("./gc.ts")).collectGarbage,
  ),
  command(
    "recover-admin",
    "Make an account an active forge administrator again, offline",
    async () => (await import("./recover-admin.ts")).recoverAdmin,
  ),
  command(
    "backup",
    "Back up the home to a file or a bucket",
    async () => (await import("./backup.ts")).backupDaemon,
  ),
  command(
    "restore",
    "Restore the home from a backup, or its database from a copy",
    async () => (await import("./restore.ts")).restoreDaemon,
  ),
];
