import { cloudConnectionEndpoints } from "../../../contract/vault/cloud/connections.ts";
import { cloudItemEndpoints } from "../../../contract/vault/cloud/items.ts";
import type { Route } from "../../../http/handle.ts";
import { serveSome } from "../../handle.ts";
import type { CloudAnalysis } from "./analysis.service.ts";
import { toPendingView, toSettingsView } from "./analysis.view.ts";

/** Routes of the analysis of items and of its settings by the user. */
export const analysisRoutes = (analysis: CloudAnalysis): Route[] => [
  ...serveSome(cloudItemEndpoints, {
    analyzeItem: async ({ caller, params }) =>
      toPendingView(await analysis.analyze(caller, params)),
  }),
  ...serveSome(cloudConnectionEndpoints, {
    getAnalysisSettings: async ({ caller }) => toSettingsView(await analysis.getSettings(caller)),
    updateAnalysisSettings: async ({ caller, body }) =>
      toSettingsView(await analysis.updateSettings(caller, body)),
  }),
];
