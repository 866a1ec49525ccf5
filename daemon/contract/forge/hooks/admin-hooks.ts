import { z } from "zod";
import { empty, endpoint, siteAdminOfAll } from "../../endpoint.ts";
import {
  apiError,
  optionalFlag,
  optionalTextMap,
  optionalText,
  optionalWords,
  paging,
  pathInteger,
  queryFlag,
  queryWord,
  requiredText,
  requiredTextMap,
  signedInReplies,
  wireId,
  wireTime,
} from "../common.ts";
import { hookTypes } from "./fields.ts";

/** A hook. Never contains the secret or the authorization header. */
export const hookShape = z.object({
  id: wireId,
  name: z.string(),
  type: z.string(),
  branch_filter: z.string(),
  config: z.record(z.string(), z.string()),
  events: z.array(z.string()),
  authorization_header: z.literal(""),
  active: z.boolean(),
  updated_at: wireTime,
  created_at: wireTime,
});
export type WireHook = z.output<typeof hookShape>;

export const deliveryStates = ["waiting", "delivered", "failed"] as const;

/** An entry of the delivery log, which is an extension of the reference. */
export const deliveryShape = z.object({
  id: wireId,
  hook_id: wireId,
  /** The `X-Gitea-Delivery` header, the same for every attempt. */
  uuid: z.string(),
  event: z.string(),
  state: z.enum(deliveryStates),
  attempts: z.int(),
  redelivery: z.boolean(),
  created_at: wireTime,
  /** Of the latest attempt. */
  attempted_at: wireTime.nullable(),
  next_attempt_at: wireTime.nullable(),
  duration_ms: z.int().nullable(),
  response_status: z.int().nullable(),
  error: z.string().nullable(),
});
export type WireDelivery = z.output<typeof deliveryShape>;

/** A delivery with its request and response, as far as they are stored. */
export const deliveryDetailsShape = deliveryShape.extend({
  request: z.object({ headers: z.record(z.string(), z.string()), body: z.string() }),
  response: z.object({ headers: z.record(z.string(), z.string()), body: z.string() }).nullable(),
});
export type WireDeliveryDetails = z.output<typeof deliveryDetailsShape>;

/** A new hook. */
export const newHookShape = z.object({
  type: requiredText().meta({ enum: hookTypes }),
  config: requiredTextMap,
  events: optionalWords,
  branch_filter: optionalText(),
  authorization_header: optionalText(),
  active: optionalFlag,
  name: optionalText({ max: 255 }),
});

/** The changes of an edit; absent members stay as they are. */
export const hookEditShape = z.object({
  config: optionalTextMap,
  events: optionalWords,
  branch_filter: optionalText(),
  authorization_header: optionalText(),
  active: optionalFlag,
  name: optionalText({ max: 255 }),
});

/** Croft's own: no response contains the header, so a client that edits other members could only lose it. */
export const hookEditQuery = z.object({ keep_authorization_header: queryFlag });

const hookParams = z.object({ id: pathInteger.brand<"HookId">() });
const deliveryParams = z.object({
  id: pathInteger.brand<"HookId">(),
  delivery_id: pathInteger.brand<"DeliveryId">(),
});

export const listHooks = endpoint({
  name: "forge.admin.hooks.list",
  method: "GET",
  path: "/api/v1/admin/hooks",
  summary: "System hooks, default hooks or both",
  gate: siteAdminOfAll,
  query: z.object({ ...paging, type: queryWord(["system", "default", "all"]) }),
  paging: "link_and_total",
  replies: { 200: z.array(hookShape), ...signedInReplies },
});

export const createHook = endpoint({
  name: "forge.admin.hooks.create",
  method: "POST",
  path: "/api/v1/admin/hooks",
  summary: "Create a system or default hook; inactive unless requested",
  gate: siteAdminOfAll,
  body: newHookShape,
  replies: { 201: hookShape, 400: apiError, ...signedInReplies, 422: apiError },
});

export const getHook = endpoint({
  name: "forge.admin.hooks.get",
  method: "GET",
  path: "/api/v1/admin/hooks/:id",
  summary: "A system or default hook",
  gate: siteAdminOfAll,
  params: hookParams,
  replies: { 200: hookShape, ...signedInReplies, 404: apiError },
});

export const editHook = endpoint({
  name: "forge.admin.hooks.edit",
  method: "PATCH",
  path: "/api/v1/admin/hooks/:id",
  summary:
    "Change a hook; events, branch filter and authorization header are replaced even when absent",
  gate: siteAdminOfAll,
  params: hookParams,
  query: hookEditQuery,
  body: hookEditShape,
  replies: { 200: hookShape, 400: apiError, ...signedInReplies, 404: apiError, 422: apiError },
});

export const deleteHook = endpoint({
  name: "forge.admin.hooks.delete",
  method: "DELETE",
  path: "/api/v1/admin/hooks/:id",
  summary: "Delete a system or default hook with its deliveries",
  gate: siteAdminOfAll,
  params: hookParams,
  replies: { 204: empty, ...signedInReplies, 404: apiError },
});

export const listDeliveries = endpoint({
  name: "forge.admin.hooks.deliveries.list",
  method: "GET",
  path: "/api/v1/admin/hooks/:id/deliveries",
  summary: "The deliveries of a hook, newest first",
  gate: siteAdminOfAll,
  params: hookParams,
  query: z.object({ ...paging, state: queryWord(deliveryStates) }),
  paging: "link_and_total",
  replies: { 200: z.array(deliveryShape), ...signedInReplies, 404: apiError },
});

export const getDelivery = endpoint({
  name: "forge.admin.hooks.deliveries.get",
  method: "GET",
  path: "/api/v1/admin/hooks/:id/deliveries/:delivery_id",
  summary: "A delivery with its request and response",
  gate: siteAdminOfAll,
  params: deliveryParams,
  replies: { 200: deliveryDetailsShape, ...signedInReplies, 404: apiError },
});

export const redeliver = endpoint({
  name: "forge.admin.hooks.deliveries.redeliver",
  method: "POST",
  path: "/api/v1/admin/hooks/:id/deliveries/:delivery_id/redeliver",
  summary: "Deliver the same payload once more, as a delivery of its own",
  gate: siteAdminOfAll,
  params: deliveryParams,
  replies: { 201: deliveryShape, ...signedInReplies, 404: apiError },
});

export const adminHookEndpoints = {
  listHooks,
  createHook,
  getHook,
  editHook,
  deleteHook,
  listDeliveries,
  getDelivery,
  redeliver,
};
