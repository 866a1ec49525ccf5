// daemon/vault/documents: files that users keep in the vault, with upload addresses, topics and shares.
import type { VaultFeature } from "../feature.ts";
import { vaultTasks } from "../tasks.ts";
import type { Log } from "../../utilities/logging.ts";
import type { QueueMail } from "../accounts/reset-mails.ts";
import { isPreviewable } from "../cloud/bytes/previewable.ts";
import type { StoredFiles } from "../cloud/stored-files/stored-files.service.ts";
import { createDocumentFiles } from "./document-files.ts";
import { documentRoutes } from "./documents.routes.ts";
import { createDocuments, type DocumentsDeps, type ReconcileReport } from "./documents.service.ts";
import { createShares } from "./shares.service.ts";
import { createInvitations, type InvitationsDeps } from "./invitations.service.ts";
import { invitationRoutes, shareRoutes, topicRoutes } from "./sharing.routes.ts";
import { createTopics } from "./topics.service.ts";
import { createDocumentTrash, type DocumentTrashDeps } from "./trash.service.ts";
import { createDocumentVersions, type DocumentVersionsDeps } from "./versions.service.ts";
import { createDocumentRecords, type DocumentRecordsDeps } from "./document-records.ts";
import { uploadSessionRoutes } from "./upload-sessions.routes.ts";
import { createUploadSessions, type UploadSessionsDeps } from "./upload-sessions.service.ts";
import { createDocumentUploads, type DocumentUploadsDeps } from "./uploads.service.ts";

export type VaultDocumentsDeps = Omit<
  DocumentsDeps &
    DocumentRecordsDeps &
    DocumentUploadsDeps &
    DocumentTrashDeps &
    DocumentVersionsDeps &
    UploadSessionsDeps &
    InvitationsDeps,
  "documents" | "topics" | "isPreviewable" | "files" | "records"
> & {
  readonly storedFiles: StoredFiles;
  /** Undefined where no mail leaves this server. */
  readonly queueMail?: QueueMail | undefined;
  readonly instanceName: string;
  /** Base of every link, without a trailing slash. */
  readonly publicUrl: () => string;
  readonly log: Pick<Log, "warn">;
};

/** The documents of the vault. */
export function createVaultDocuments(deps: VaultDocumentsDeps) {
  const topics = createTopics(deps);
  const { storedFiles } = deps;
  const { store, replace, open } = createDocumentFiles(storedFiles, deps.uploadBytesMax);
  const { remove, discardAbandoned } = storedFiles;
  const documents = createDocuments({
    ...deps,
    topics,
    isPreviewable,
    files: { open, discardAbandoned },
  });
  const records = createDocumentRecords({ ...deps, files: { store } });
  const uploads = createDocumentUploads({ ...deps, documents, records, files: { store } });
  const sessions = createUploadSessions({ ...deps, documents, records });
  const trash = createDocumentTrash({ ...deps, documents, files: { remove } });
  const invitations = createInvitations(deps);
  const versions = createDocumentVersions({ ...deps, documents, files: { open, replace } });
  return {
    routes: [
      ...documentRoutes({ documents, uploads, trash, versions, publicUrl: deps.publicUrl }),
      ...uploadSessionRoutes(sessions),
      ...shareRoutes(createShares(deps)),
      ...invitationRoutes(invitations),
      ...topicRoutes(topics),
    ],
    jobs: [sessions.job],
    services: { documents, uploads, trash, versions, topics, invitations },
    tasks: [
      {
        ...vaultTasks.purge_document_trash,
        run: async (signal: AbortSignal) => {
          await trash.purgeExpired(signal);
        },
      },
      {
        ...vaultTasks.reconcile_documents,
        run: async (signal: AbortSignal) => warnOf(deps.log, await documents.reconcile(signal)),
      },
    ],
  } satisfies VaultFeature;
}

function warnOf(
  log: Pick<Log, "warn">,
  { correctedUsers, withoutBytes, withoutFile, discarded }: ReconcileReport,
): void {
  if (correctedUsers.length > 0)
    log.warn({ users: correctedUsers }, "corrected quota bookings that did not match");
  if (withoutBytes.length > 0)
    log.warn({ documents: withoutBytes }, "documents without bytes in the object store");
  if (withoutFile.length > 0)
    log.warn({ documents: withoutFile }, "documents without a file in connected storage");
  if (discarded > 0)
    log.warn({ files: discarded }, "deleted files of interrupted uploads from connected storage");
}
