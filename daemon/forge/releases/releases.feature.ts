// Releases of repositories and their files. Start here: one factory wires up the services of this folder. releases.service.ts has
// the rules of releases and their tags, assets.service.ts those of files.
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import { turnIntoDrafts } from "../../../storage/tables/forge/releases/releases.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { QueueMail } from "../accounts/welcome-mail.ts";
import type { CodeAccess } from "../code/open-code.ts";
import type { Tags } from "../code/tags.service.ts";
import type { Emit, ForgeEvents } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import type { Attachments } from "../issues/attachments.service.ts";
import type { ForgeUrls } from "../urls.ts";
import { createReleaseNotes } from "./notes.service.ts";
import { createReleaseMails } from "./release-mails.ts";
import { createReleaseAssets } from "./assets.service.ts";
import { releaseRoutes } from "./releases.routes.ts";
import { createReleases } from "./releases.service.ts";

export interface ForgeReleasesDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly emit: Emit;
  readonly access: Pick<CodeAccess, "within">;
  readonly tags: Pick<Tags, "ensure">;
  /** Files of issues, which have the same addresses as those of releases. */
  readonly attachments: Pick<Attachments, "open">;
  /** The bytes of files. */
  readonly store: ObjectStore;
  readonly newUuid: () => string;
  /** Maximum bytes of any upload. */
  readonly uploadBytesMax: number;
  readonly urls: ForgeUrls;
  readonly enqueue: Enqueue;
  /** Queues mails about releases; undefined without a mail server. */
  readonly queueMail: QueueMail | undefined;
  readonly instanceName: string;
}

/** The releases of the forge. */
export function createForgeReleases(deps: ForgeReleasesDeps) {
  const { queueMail } = deps;
  const mails = queueMail && createReleaseMails({ ...deps, queueMail });
  return {
    routes: releaseRoutes({
      ...deps,
      releases: createReleases(deps),
      notes: createReleaseNotes(deps),
      assets: createReleaseAssets(deps),
    }),
    subscribers: [
      { push: draftReleasesOfDeletedTags },
      ...(mails === undefined ? [] : [{ release: mails.publish }]),
    ],
    jobs: mails === undefined ? [] : [mails.job],
  } satisfies ForgeFeature;
}

const TAGS = "refs/tags/";

/** A release whose tag was deleted becomes a draft. */
async function draftReleasesOfDeletedTags(
  tx: Transaction,
  { repository, changes }: ForgeEvents["push"],
): Promise<void> {
  const deleted = changes.filter(({ ref, after }) => ref.startsWith(TAGS) && after === undefined);
  if (deleted.length === 0) return;
  const names = deleted.map(({ ref }) => ref.slice(TAGS.length));
  await turnIntoDrafts(tx, repository.id, names);
}
