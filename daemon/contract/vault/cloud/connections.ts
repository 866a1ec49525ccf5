import { z } from "zod";
import { resource } from "../resource.ts";
import {
  anyone,
  empty,
  multipart,
  perAddress,
  text,
  vaultUser,
  vaultUserInSession,
} from "../../endpoint.ts";
import {
  analysisSettings,
  connectFailure,
  connection,
  connectionParams,
  displayName,
  perMinute,
  provider,
  settingsMap,
} from "./shapes.ts";
import { detail, time, uuid } from "../common.ts";

const page = text("text/html; charset=utf-8");

/** Operations on connections, in the order of the document. */
export const cloudConnectionEndpoints = {
  ...resource(
    {
      name: "vault.cloud.providers",
      path: "/api/cloud/providers",
      shape: provider,
      gate: vaultUser,
      limit: perMinute,
    },
    ({ list }) => ({
      listProviders: list("The kinds of storage, their settings and capabilities"),
    }),
  ),
  ...resource(
    {
      name: "vault.cloud.connections",
      path: "/api/cloud/connections",
      id: connectionParams.shape,
      shape: connection,
      gate: vaultUser,
      limit: perMinute,
    },
    ({ list, get, operation }) => ({
      createConnection: operation({
        as: "create",
        method: "POST",
        summary: "Connect a storage, which is probed first",
        body: z.object({
          provider: z.string().max(64),
          display_name: displayName,
          settings: settingsMap.default({}),
          credentials: settingsMap.default({}),
        }),
        replies: {
          201: connection,
          401: z.union([connectFailure, detail]),
          409: connectFailure,
          422: z.union([connectFailure, detail]),
          503: z.union([connectFailure, detail]),
        },
      }),
      listConnections: list("The caller's connections, oldest first"),
      getConnection: get("One connection", { as: "view" }),
      updateConnection: operation({
        as: "edit",
        method: "PATCH",
        item: true,
        summary:
          "Give a connection another name or other credentials; new credentials are tried first",
        body: z.object({
          display_name: displayName.optional(),
          credentials: settingsMap.optional(),
        }),
        replies: {
          200: connection,
          401: z.union([connectFailure, detail]),
          409: connectFailure,
          422: z.union([connectFailure, detail]),
          503: z.union([connectFailure, detail]),
        },
      }),
      deleteConnection: operation({
        as: "delete",
        method: "DELETE",
        item: true,
        summary:
          "Forget a connection with its credentials, items and cached bytes; the storage's files stay",
        replies: { 200: z.object({ kind: z.literal("deleted"), id: uuid }) },
      }),
      testConnection: operation({
        method: "POST",
        item: true,
        at: "test",
        summary: "Test the connection now; the status of the response is the result",
        replies: { 200: connection },
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.cloud.authorize",
      path: "/api/cloud/authorize/:provider",
      params: z.object({ provider: z.string().max(64) }),
      shape: z.object({ authorization_url: z.url(), expires_at: time }),
      gate: vaultUserInSession,
      limit: perMinute,
    },
    ({ get }) => ({
      authorize: get(
        "Start a sign-in at a vendor's own page: the address of croft's start page, valid for ten minutes",
        {
          as: "start",
          query: z.object({
            /** Name of the connection that will be made. */
            display_name: displayName.optional(),
            /** The connection whose credentials will be replaced instead. */
            connection_id: uuid.brand<"ConnectionId">().optional(),
          }),
          refuses: [400, 409],
        },
      ),
    }),
  ),
  ...resource(
    {
      name: "vault.cloud.authorize",
      path: "/oauth/start/:ticket",
      params: z.object({ ticket: z.string().max(256) }),
      gate: anyone,
      limit: perAddress(30, 60),
    },
    ({ operation }) => ({
      openAuthorization: operation({
        as: "open",
        method: "GET",
        summary: "Bind a sign-in to this browser with a cookie, and redirect to the vendor",
        replies: { 302: empty, 400: page },
        refusesOnly: [422, 429],
        apiOnly: "a browser opens it: the start of a sign-in returns the address",
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.cloud.authorize",
      path: "/api/cloud/authorize/:provider/callback",
      params: z.object({ provider: z.string().max(64) }),
      gate: anyone,
      limit: perAddress(30, 60),
    },
    ({ operation }) => ({
      finishAuthorization: operation({
        as: "finish",
        method: "GET",
        summary:
          "The page that the vendor sends the browser back to: it asks whether to connect, and stores nothing",
        query: z.object({
          state: z.string().max(4096).default(""),
          code: z.string().max(4096).optional(),
          error: z.string().max(4096).optional(),
        }),
        replies: { 200: page, 400: page },
        refusesOnly: [422, 429],
        apiOnly: "the browser opens it at the end of a sign-in at a vendor",
      }),
      confirmAuthorization: operation({
        as: "confirm",
        method: "POST",
        summary: "Connect the storage that the page confirms, with the one-time token of its form",
        body: multipart(
          z.object({
            state: z.string().max(4096),
            token: z.string().max(4096),
            grant: z.string().max(65_536),
          }),
        ),
        replies: { 200: page, 400: page },
        refuses: [413],
        apiOnly: "the page's button posts it",
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.cloud.analysis_settings",
      path: "/api/cloud/analysis-settings",
      shape: analysisSettings,
      gate: vaultUser,
      limit: perMinute,
    },
    ({ get, edit }) => ({
      getAnalysisSettings: get("The caller's choices for the byte cache and the analysis", {
        as: "view",
      }),
      updateAnalysisSettings: edit(
        "Change some of them; a lower cache limit takes effect at once",
        analysisSettings.partial(),
      ),
    }),
  ),
};
