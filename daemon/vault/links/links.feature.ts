// daemon/vault/links: links for people without an account: to download documents or an item (`/s/`), and to send files (`/r/`).
// Start here (the parts and their wiring), then links.service.ts (owners), visits.service.ts and receipts.service.ts (visitors).
import type { Sealer } from "../../../storage/keys/keyring.ts";
import type { VaultFeature } from "../feature.ts";
import { vaultTasks } from "../tasks.ts";
import { createLinkContents, type LinkContentsDeps } from "./link-contents.ts";
import { createLinkSecrets } from "./link-secrets.ts";
import { createLinkVisitors } from "./link-visitors.ts";
import { linkRoutes } from "./links.routes.ts";
import { createLinks, type LinksDeps } from "./links.service.ts";
import { createLinkNotices, type LinkNoticesDeps } from "./notices.ts";
import { createLinkReceipts, type LinkReceiptsDeps } from "./receipts.service.ts";
import { createLinkVisits, type LinkVisitsDeps } from "./visits.service.ts";

export type VaultLinksDeps = Omit<
  LinksDeps & LinkVisitsDeps & LinkReceiptsDeps & LinkNoticesDeps & LinkContentsDeps,
  "secrets" | "contents" | "notices"
> & {
  readonly keys: Sealer;
  readonly randomBytes: (size: number) => Uint8Array;
  /** Base of every link, without a trailing slash. */
  readonly publicUrl: () => string;
};

/** The links of the vault. */
export function createVaultLinks(deps: VaultLinksDeps) {
  const secrets = createLinkSecrets(deps.keys, deps.randomBytes, deps.clock);
  const notices = createLinkNotices(deps);
  const contents = createLinkContents(deps);
  const visits = createLinkVisits({ ...deps, secrets, contents, notices });
  return {
    routes: linkRoutes({
      ...deps,
      links: createLinks({ ...deps, secrets }),
      visitors: createLinkVisitors({
        ...deps,
        visits,
        receipts: createLinkReceipts({ ...deps, notices }),
      }),
    }),
    jobs: [notices.job],
    tasks: [
      {
        ...vaultTasks.forget_link_downloads,
        run: async () => {
          await visits.deleteExpired();
        },
      },
    ],
    services: { visits },
  } satisfies VaultFeature;
}
