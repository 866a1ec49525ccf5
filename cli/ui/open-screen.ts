import type { CliContext } from "../context.ts";
import type { ScreenModel } from "./screen.tsx";

/** A screen that polls the daemon. */
export interface LiveScreen extends ScreenModel {
  /** Reloads the shown data; resolves when the load has succeeded or failed. */
  reload(): Promise<void>;
}

/** Shows a screen and reloads it every `everyMs` milliseconds until the person leaves. @throws CliError as `showScreen` does */
export async function showLiveScreen(
  cli: CliContext,
  screen: LiveScreen,
  everyMs: number,
): Promise<void> {
  const closing = new AbortController();
  // Request the data while the modules that draw it are loaded.
  const firstLoad = screen.reload();
  const reloading = firstLoad.then(() => keepReloading(cli, screen, everyMs, closing.signal));
  try {
    const { showScreen } = await import("./screen.tsx");
    await showScreen(cli, screen, firstLoad);
  } finally {
    closing.abort();
    const ended = new AbortController();
    const patience = cli.system.sleep(LEAVE_MS, ended.signal).then(
      () => cli.markStuck(),
      // The load has ended in time.
      () => undefined,
    );
    await Promise.race([reloading, patience]);
    ended.abort(new Error("left"));
  }
}

/** How long a load that the daemon does not answer may keep a person who has left the screen. */
const LEAVE_MS = 500;

async function keepReloading(
  cli: CliContext,
  screen: LiveScreen,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    // Leaving the screen ends the wait.
    await cli.system.sleep(everyMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    await screen.reload();
  }
}

/** Whether a full-screen view is possible. Otherwise the plain command runs. */
export async function canShowScreen(cli: CliContext): Promise<boolean> {
  return (
    cli.io.isOutputTerminal && cli.system.env["TERM"] !== "dumb" && (await cli.prompts.canAsk())
  );
}
