// daemon/vault/thumbnails: small pictures of documents. thumbnails.service.ts keeps them, thumbnail-drawer.ts runs drawing/ in a
// process of its own.
import { documentEndpoints } from "../../contract/vault/documents.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import type { DocumentBytes } from "../documents/documents.service.ts";
import type { VaultFeature } from "../feature.ts";
import { serveSome } from "../handle.ts";
import { createThumbnailDrawer } from "./thumbnail-drawer.ts";
import { createThumbnails, type ThumbnailsDeps } from "./thumbnails.service.ts";

export type VaultThumbnailsDeps = Omit<ThumbnailsDeps, "drawer"> & {
  readonly drawing: Parameters<typeof createThumbnailDrawer>[0];
};

export function createVaultThumbnails(deps: VaultThumbnailsDeps) {
  const drawer = createThumbnailDrawer(deps.drawing);
  const thumbnails = createThumbnails({ ...deps, drawer });
  return {
    routes: serveSome(documentEndpoints, {
      getDocumentThumbnail: async ({ caller, params }) =>
        toThumbnailAnswer(await thumbnails.get(caller, params.document_id)),
    }),
    close: () => drawer.close(),
  } satisfies VaultFeature;
}

function toThumbnailAnswer(bytes: DocumentBytes): BytesAnswer {
  return {
    status: 200,
    headers: {
      "Content-Disposition": "inline",
      "X-Content-Type-Options": "nosniff",
      "Content-Security-Policy": "sandbox; default-src 'none'",
      "Cache-Control": "private, no-cache",
    },
    bytes: { ...bytes, contentType: "image/png" },
  };
}
