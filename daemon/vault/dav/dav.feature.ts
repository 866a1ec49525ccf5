import type { RateLimiter } from "../../http/bind.ts";
import type { PartHandler } from "../../http/server.ts";
import type { Authentication } from "../accounts/authentication.ts";
import type { VaultFeature } from "../feature.ts";
import { type ConnectionTreeDeps, createConnectionTree } from "./connection-tree.ts";
import { createDavSignIn } from "./credentials.ts";
import { createDavHandler, type DavHandlerDeps } from "./dav-handler.ts";
import { createDocumentTree, type DocumentTreeDeps } from "./document-tree.ts";
import { createJunkFiles } from "./junk-files.ts";
import { createDavLocks } from "./locks.service.ts";
import { createDavTrees } from "./spaces.ts";

export interface VaultDavDeps
  extends
    ConnectionTreeDeps,
    Pick<DocumentTreeDeps, "documents" | "trash" | "versions" | "topics">,
    Pick<DavHandlerDeps, "clock" | "log" | "publicUrl" | "transport"> {
  readonly documentUploads: DocumentTreeDeps["uploads"];
  readonly authentication: Authentication;
  readonly limiter: RateLimiter;
  /** Requests of an account in a minute. */
  readonly requestsPerMinute: number;
}

/** The WebDAV server. It has no endpoints: the transport hands it everything below `/dav`. */
export function createVaultDav(deps: VaultDavDeps) {
  const junk = createJunkFiles(deps);
  const serve: PartHandler = createDavHandler({
    ...deps,
    junk,
    locks: createDavLocks(deps),
    signIn: createDavSignIn(deps),
    openTree: createDavTrees({
      ...deps,
      junk,
      openConnection: createConnectionTree(deps),
      openDocuments: createDocumentTree({ ...deps, uploads: deps.documentUploads }),
    }),
  });
  return { services: { serveDav: serve } } satisfies VaultFeature;
}
