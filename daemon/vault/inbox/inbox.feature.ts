// daemon/vault/inbox: files of folders on this machine become documents. Start in inbox.service.ts.
import { type FSWatcher, watch } from "node:fs";
import { createSemaphore } from "../../../storage/locks.ts";
import { inboxEndpoints } from "../../contract/vault/inbox.ts";
import type { VaultFeature } from "../feature.ts";
import { serve } from "../handle.ts";
import { vaultTasks } from "../tasks.ts";
import { createInbox, type InboxDeps, type InboxState, SETTLE_MS } from "./inbox.service.ts";

/**
 * The inbox folders. A scheduled task looks at them each minute; where the system reports changes, a look follows each of
 * them, and another when the file has settled.
 */
export function createVaultInbox(deps: InboxDeps) {
  const inbox = createInbox(deps);
  const stopping = new AbortController();
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  // Two looks at once would take in a file twice.
  const oneAtATime = createSemaphore({ permits: 1 });

  const scan = (signal: AbortSignal): Promise<void> =>
    oneAtATime(async () => {
      // A look that is planned would see nothing more.
      clearTimeout(timer);
      timer = undefined;
      if (await inbox.scan(AbortSignal.any([signal, stopping.signal]))) scanLater();
    });

  function scanLater(): void {
    if (timer !== undefined || stopping.signal.aborted) return;
    timer = setTimeout(() => {
      scan(stopping.signal).catch((error: unknown) => {
        if (!stopping.signal.aborted)
          deps.log.warn({ err: error }, "failed to look at the inboxes");
      });
    }, SETTLE_MS + 100);
    timer.unref();
  }

  return {
    routes: serve(inboxEndpoints, {
      getInbox: async ({ caller }) => toInboxView(await inbox.show(caller)),
      async retryInbox({ caller, body }) {
        const retried = await inbox.retry(caller, body.name);
        scanLater();
        return { retried };
      },
    }),
    tasks: [
      {
        ...vaultTasks.take_in_inboxes,
        async run(signal: AbortSignal) {
          await scan(signal);
          watcher ??= watchFolder(deps, scanLater);
        },
      },
    ],
    async close() {
      stopping.abort();
      clearTimeout(timer);
      watcher?.close();
      // The look that runs.
      await oneAtATime(async () => undefined);
    },
  } satisfies VaultFeature;
}

function toInboxView({ isEnabled, handle, problem, files }: InboxState) {
  return {
    is_enabled: isEnabled,
    folder: `inbox/${handle}`,
    problem: problem ?? null,
    files: files.map(({ file: { name, stats }, status, reason }) => ({
      name,
      size_bytes: Number(stats.size),
      status,
      reason: reason ?? null,
      modified_at: stats.mtime.toISOString(),
    })),
  };
}

/** Watches all folders. Undefined where the system cannot: then the task alone finds new files. */
function watchFolder(
  { folder, log }: Pick<InboxDeps, "folder" | "log">,
  onChange: () => void,
): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { recursive: true, persistent: false }, onChange);
    watcher.on("error", (error) => {
      log.warn({ err: error }, "stopped watching the inboxes");
      watcher.close();
    });
    return watcher;
  } catch (error) {
    log.warn({ err: error }, "cannot watch the inboxes");
    return undefined;
  }
}
