import { spawn } from "node:child_process";
import type { System } from "../system.ts";

/** Reports the state of a daemon to systemd, with its own program; without systemd each call does nothing. */
export interface ServiceNotifier {
  /** Requests are accepted. From here on the watchdog is answered until `stopping`. */
  ready(): void;
  stopping(): void;
}

/** Reads `NOTIFY_SOCKET` and `WATCHDOG_USEC` as sd_notify(3) and sd_watchdog_enabled(3) describe them. */
export function createServiceNotifier(
  { env, pid }: Pick<System, "env" | "pid">,
  notify: (words: readonly string[]) => void = runSystemdNotify(env),
): ServiceNotifier {
  const isService = (env["NOTIFY_SOCKET"] ?? "") !== "";
  const watchdogMs = Number(env["WATCHDOG_USEC"] ?? "0") / 1_000;
  const isWatched = isService && watchdogMs > 0 && (env["WATCHDOG_PID"] ?? `${pid}`) === `${pid}`;
  let timer: NodeJS.Timeout | undefined;
  return {
    ready() {
      if (!isService) return;
      notify(["--ready", `--pid=${pid}`]);
      // From the event loop: a daemon whose loop is blocked is restarted.
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
    const child = spawn("systemd-notify", [...words], { env, stdio: "ignore" });
    // If the program is missing, the service manager reports that no notification arrived.
    child.on("error", () => undefined);
    child.unref();
  };
}
