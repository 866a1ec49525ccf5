import { cloudConnectionEndpoints } from "../../../contract/vault/cloud/connections.ts";
import { cloudItemEndpoints } from "../../../contract/vault/cloud/items.ts";
import type { Route } from "../../../http/handle.ts";
import { handle } from "../../handle.ts";
import type { CloudAnalysis } from "./analysis.service.ts";
import { toAnalyzeReply, toSettingsReply } from "./analysis.view.ts";

/** Routes of the analysis of items and of its settings by the user. */
export const analysisRoutes = (analysis: CloudAnalysis): Route[] => [
  handle(cloudItemEndpoints.analyzeItem, async ({ caller, params }) =>
    toAnalyzeReply(await analysis.analyze(caller, params)),
  ),
  handle(cloudConnectionEndpoints.getAnalysisSettings, async ({ caller }) =>
    toSettingsReply(await analysis.getSettings(caller)),
  ),
  handle(cloudConnectionEndpoints.updateAnalysisSettings, async ({ caller, body }) =>
    toSettingsReply(await analysis.updateSettings(caller, body)),
  ),
];
