import type { z } from "zod";
import type { job as jobSchema } from "../../contract/vault/jobs.ts";
import type { JobRecord } from "../../../storage/tables/common/jobs.ts";
import { isScheduled } from "./jobs.service.ts";
import { createScrubber } from "../../utilities/redaction.ts";

/** Descriptions of the kinds of jobs. A kind without an entry is shown by its name. */
const descriptions: Readonly<Record<string, string>> = {
  "vault.documents.process": "extract the text of a document and classify it",
  "cloud.analyze": "extract the text of an item and classify it",
  "cloud.auto_analyze": "find new and changed files of a folder to be analysed",
  "cloud.relist": "list a folder of connected storage again",
  "vault.password-reset": "mail a link to choose another password",
  "mail.send": "send a mail",
  "forge.hooks.deliver": "deliver a webhook",
  "forge.repositories.tidy": "clean up the folder of a repository",
  "forge.git.pushes": "publish the events of a push",
  "forge.notifications.issue": "notify the readers of an issue",
};

const scrub = createScrubber([]);

/** A job on the wire: without its payload, and with credentials removed from its error. */
export function toJobView(job: JobRecord): z.output<typeof jobSchema> {
  const payload = (job.payload ?? {}) as { document_id?: unknown; item_id?: unknown };
  return {
    id: job.id,
    kind: job.kind,
    description: descriptions[job.kind] ?? toDescription(job.kind),
    state: job.state,
    attempts: job.attempts,
    last_error: job.lastError === undefined ? null : scrub(job.lastError),
    document_id: typeof payload.document_id === "string" ? payload.document_id : null,
    item_id: typeof payload.item_id === "string" ? payload.item_id : null,
    run_at: new Date(job.runAt).toISOString(),
    created_at: new Date(job.createdAt).toISOString(),
    updated_at: new Date(job.updatedAt).toISOString(),
  };
}

/** Returns the description of a scheduled task by its name, such as `git_gc_repos`; other kinds are shown as they are. */
function toDescription(kind: string): string {
  return isScheduled(kind)
    ? `${kind.replace(/^schedule\.(?:cron\.)?/, "")} (scheduled task)`
    : kind;
}
