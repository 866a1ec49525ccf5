import {
  authorize,
  finishAuthorization,
  getAnalysisSettings,
  updateAnalysisSettings,
} from "../../contract/vault/cloud-connections.ts";
import { analyzeItem } from "../../contract/vault/cloud-items.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import { toAnalyzeReply, toSettingsReply } from "./analysis.view.ts";
import { toCallbackReply, toStartReply } from "./authorization.view.ts";
import type { Cloud } from "./cloud.ts";

/** Routes of the analysis and of signing in at providers. */
export const analysisRoutes = ({ analysis, authorization }: Cloud): Route[] => [
  handle(analyzeItem, async ({ caller, params }) =>
    toAnalyzeReply(await analysis.analyze(caller, params)),
  ),
  handle(getAnalysisSettings, async ({ caller }) =>
    toSettingsReply(await analysis.getSettings(caller)),
  ),
  handle(updateAnalysisSettings, async ({ caller, body }) =>
    toSettingsReply(await analysis.updateSettings(caller, body)),
  ),
  handle(authorize, async ({ caller, params, query }) =>
    toStartReply(await authorization.start(caller, params.provider, query)),
  ),
  handle(finishAuthorization, async ({ params, query }) =>
    toCallbackReply(await authorization.finish(params.provider, query)),
  ),
];
