import { z } from "zod";
import {
  anyone,
  empty,
  endpoint,
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
  lookRefusals,
  perMinute,
  provider,
  settingsMap,
} from "./shapes.ts";
import { detail, pageOf, paging, time, uuid } from "../common.ts";

export const listProviders = endpoint({
  name: "vault.cloud.providers.list",
  method: "GET",
  path: "/api/cloud/providers",
  summary: "The kinds of storage, their settings and capabilities",
  gate: vaultUser,
  limit: perMinute,
  query: z.object(paging),
  replies: { 200: pageOf(provider), 401: detail, 403: detail, 422: detail, 429: detail },
});

export const createConnection = endpoint({
  name: "vault.cloud.connections.create",
  method: "POST",
  path: "/api/cloud/connections",
  summary: "Connect a storage, which is probed first",
  gate: vaultUser,
  limit: perMinute,
  body: z.object({
    provider: z.string().max(64),
    display_name: displayName,
    settings: settingsMap.default({}),
    credentials: settingsMap.default({}),
  }),
  replies: {
    201: connection,
    401: z.union([connectFailure, detail]),
    403: detail,
    /** `name_collision`: another connection of the account has the name, without case. */
    409: connectFailure,
    422: z.union([connectFailure, detail]),
    429: detail,
    503: z.union([connectFailure, detail]),
  },
});

export const listConnections = endpoint({
  name: "vault.cloud.connections.list",
  method: "GET",
  path: "/api/cloud/connections",
  summary: "The caller's connections, oldest first",
  gate: vaultUser,
  limit: perMinute,
  query: z.object(paging),
  replies: { 200: pageOf(connection), 401: detail, 403: detail, 422: detail, 429: detail },
});

export const getConnection = endpoint({
  name: "vault.cloud.connections.view",
  method: "GET",
  path: "/api/cloud/connections/:connection_id",
  summary: "One connection",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  replies: { 200: connection, ...lookRefusals },
});

export const updateConnection = endpoint({
  name: "vault.cloud.connections.edit",
  method: "PATCH",
  path: "/api/cloud/connections/:connection_id",
  summary: "Give a connection another name or other credentials; new credentials are tried first",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  body: z.object({ display_name: displayName.optional(), credentials: settingsMap.optional() }),
  replies: {
    200: connection,
    401: z.union([connectFailure, detail]),
    403: detail,
    404: detail,
    409: connectFailure,
    422: z.union([connectFailure, detail]),
    429: detail,
    503: z.union([connectFailure, detail]),
  },
});

export const deleteConnection = endpoint({
  name: "vault.cloud.connections.delete",
  method: "DELETE",
  path: "/api/cloud/connections/:connection_id",
  summary:
    "Forget a connection with its credentials, items and cached bytes; the storage's files stay",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  replies: { 200: z.object({ kind: z.literal("deleted"), id: uuid }), ...lookRefusals },
});

export const testConnection = endpoint({
  name: "vault.cloud.connections.test",
  method: "POST",
  path: "/api/cloud/connections/:connection_id/test",
  summary: "Test the connection now; the status of the response is the result",
  gate: vaultUser,
  limit: perMinute,
  params: connectionParams,
  replies: { 200: connection, ...lookRefusals },
});

export const authorize = endpoint({
  name: "vault.cloud.authorize.start",
  method: "GET",
  path: "/api/cloud/authorize/:provider",
  summary:
    "Start a sign-in at a vendor's own page: the address of croft's start page, valid for ten minutes",
  gate: vaultUserInSession,
  limit: perMinute,
  params: z.object({ provider: z.string().max(64) }),
  query: z.object({
    /** Name of the connection that will be made. */
    display_name: displayName.optional(),
    /** The connection whose credentials will be replaced instead. */
    connection_id: uuid.brand<"ConnectionId">().optional(),
  }),
  replies: {
    200: z.object({ authorization_url: z.url(), expires_at: time }),
    400: detail,
    409: detail,
    ...lookRefusals,
  },
});

const page = text("text/html; charset=utf-8");

export const openAuthorization = endpoint({
  name: "vault.cloud.authorize.open",
  method: "GET",
  path: "/oauth/start/:ticket",
  summary: "Bind a sign-in to this browser with a cookie, and redirect to the vendor",
  gate: anyone,
  limit: perAddress(30, 60),
  params: z.object({ ticket: z.string().max(256) }),
  replies: { 302: empty, 400: page, 422: detail, 429: detail },
  apiOnly: "a browser opens it: the start of a sign-in returns the address",
});

export const finishAuthorization = endpoint({
  name: "vault.cloud.authorize.finish",
  method: "GET",
  path: "/api/cloud/authorize/:provider/callback",
  summary:
    "The page that the vendor sends the browser back to: it asks whether to connect, and stores nothing",
  gate: anyone,
  limit: perAddress(30, 60),
  params: z.object({ provider: z.string().max(64) }),
  query: z.object({
    state: z.string().max(4096).default(""),
    code: z.string().max(4096).optional(),
    error: z.string().max(4096).optional(),
  }),
  replies: { 200: page, 400: page, 422: detail, 429: detail },
  apiOnly: "the browser opens it at the end of a sign-in at a vendor",
});

export const confirmAuthorization = endpoint({
  name: "vault.cloud.authorize.confirm",
  method: "POST",
  path: "/api/cloud/authorize/:provider/callback",
  summary: "Connect the storage that the page confirms, with the one-time token of its form",
  gate: anyone,
  limit: perAddress(30, 60),
  params: z.object({ provider: z.string().max(64) }),
  body: multipart(
    z.object({
      state: z.string().max(4096),
      token: z.string().max(4096),
      grant: z.string().max(65_536),
    }),
  ),
  replies: { 200: page, 400: page, 404: detail, 413: detail, 422: detail, 429: detail },
  apiOnly: "the page's button posts it",
});

export const getAnalysisSettings = endpoint({
  name: "vault.cloud.analysis_settings.view",
  method: "GET",
  path: "/api/cloud/analysis-settings",
  summary: "The caller's choices for the byte cache and the analysis",
  gate: vaultUser,
  limit: perMinute,
  replies: { 200: analysisSettings, 401: detail, 403: detail, 429: detail },
});

export const updateAnalysisSettings = endpoint({
  name: "vault.cloud.analysis_settings.edit",
  method: "PATCH",
  path: "/api/cloud/analysis-settings",
  summary: "Change some of them; a lower cache limit takes effect at once",
  gate: vaultUser,
  limit: perMinute,
  body: analysisSettings.partial(),
  replies: { 200: analysisSettings, 401: detail, 403: detail, 422: detail, 429: detail },
});

/** Operations on connections, in the order of the document. */
export const cloudConnectionEndpoints = {
  listProviders,
  createConnection,
  listConnections,
  getConnection,
  updateConnection,
  deleteConnection,
  testConnection,
  authorize,
  openAuthorization,
  finishAuthorization,
  confirmAuthorization,
  getAnalysisSettings,
  updateAnalysisSettings,
};
