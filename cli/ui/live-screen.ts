import type { CliContext } from "../context.ts";
import type { ScreenModel } from "./screen.tsx";

/** A screen that polls the daemon. */
export interface LiveScreen extends ScreenModel {
  /** Loads what is shown again; resolves when that is over, well or not. */
  reload(): Promise<void>;
}

/** Shows a screen and reloads it every `everyMs` milliseconds until the person leaves. @throws CliError as `showScreen` does */
export async function showLiveScreen(
  cli: CliContext,
  screen: LiveScreen,
  everyMs: number,
): Promise<void> {
  const closing = new AbortController();
  const reloading = keepReloading(cli, screen, everyMs, closing.signal);
  try {
    const { showScreen } = await import("./screen.tsx");
    await showScreen(cli, screen);
  } finally {
    closing.abort();
    await reloading;
  }
}

async function keepReloading(
  cli: CliContext,
  screen: LiveScreen,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await screen.reload();
    // Leaving the screen ends the wait.
    await cli.system.sleep(everyMs, signal).catch(() => undefined);
  }
}
