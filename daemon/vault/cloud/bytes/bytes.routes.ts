import { cloudItemEndpoints } from "../../../contract/vault/cloud/items.ts";
import type { Route } from "../../../http/handle.ts";
import { serveSome } from "../../handle.ts";
import type { CloudBytes } from "./bytes.service.ts";
import { createDownloadAnswers, toPreviewAnswer } from "./bytes.view.ts";

/** Routes that send the bytes of items. */
export const bytesRoutes = (
  bytes: CloudBytes,
  toDownloadAnswer = createDownloadAnswers(),
): Route[] => [
  ...serveSome(cloudItemEndpoints, {
    previewItem: async ({ caller, params }) =>
      toPreviewAnswer(params, await bytes.preview(caller, params)),
    downloadItem: async ({ caller, params }) =>
      toDownloadAnswer(await bytes.download(caller, params)),
  }),
];
