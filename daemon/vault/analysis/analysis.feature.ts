import type { Database } from "../../../storage/engine/database.ts";
import type { ObjectStore } from "../../../storage/objects/object-store.ts";
import type { ModelClassifier } from "../ai/model-classifier.ts";
import type { CloudBytes } from "../cloud/bytes/bytes.service.ts";
import type { StoredFiles } from "../cloud/stored-files/stored-files.service.ts";
import type { VaultFeature } from "../feature.ts";
import type { SemanticIndex } from "../search/semantic-index.ts";
import { createDocumentProcessing } from "./document-processing.ts";
import { createItemProcessing } from "./item-processing.ts";
import { createTextExtractor } from "./text-extractor.ts";
import { createTopicChooser } from "./topic-chooser.ts";

export interface VaultAnalysisDeps {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly bytes: Pick<CloudBytes, "download">;
  readonly storedFiles: Pick<StoredFiles, "open">;
  readonly model: ModelClassifier;
  readonly index: Pick<SemanticIndex, "prepare">;
  readonly extraction: Parameters<typeof createTextExtractor>[0];
}

/** The jobs that extract and classify the texts of documents and items. */
export function createVaultAnalysis(deps: VaultAnalysisDeps) {
  const extractor = createTextExtractor(deps.extraction);
  const tools = { ...deps, extractor, topics: createTopicChooser(deps) };
  return {
    jobs: [
      createDocumentProcessing({ ...tools, files: deps.storedFiles }),
      createItemProcessing(tools),
    ],
    close: () => extractor.close(),
  } satisfies VaultFeature;
}
