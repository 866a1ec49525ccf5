import type { Database } from "../../../storage/engine/database.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { Embedder } from "../ai/embedder.ts";
import type { VaultFeature } from "../feature.ts";
import { searchRoutes } from "./search.routes.ts";
import { createSearch } from "./search.service.ts";
import { createSemanticIndex } from "./semantic-index.ts";
import { createSemanticSearch } from "./semantic-search.ts";

/** The search in texts and meanings of documents and items. */
export function createVaultSearch(deps: {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly embedder: Embedder;
}) {
  const index = createSemanticIndex(deps);
  return {
    services: { index },
    routes: searchRoutes(createSearch({ db: deps.db, semantic: createSemanticSearch(deps) })),
    jobs: index.jobs,
  } satisfies VaultFeature;
}
