import {
  holdsFiles,
  holdsLinkDownloads,
  holdsTrash,
} from "../../storage/tables/vault/pending-work.ts";
import { declareTasks } from "../jobs/cron-task.ts";

/** The scheduled tasks of the vault. Their code is loaded when they have something to do. */
export const vaultTasks = declareTasks({
  reconcile_documents: { schedule: "@midnight", atStart: true, isNeeded: holdsFiles },
  purge_document_trash: { schedule: "@midnight", atStart: true, isNeeded: holdsTrash },
  forget_link_downloads: { schedule: "@midnight", isNeeded: holdsLinkDownloads },
  reconcile_byte_cache: { schedule: "@midnight" },
  // Only where the setting `inbox` is on.
  take_in_inboxes: { schedule: "@every 1m", atStart: true },
});
