import { z } from "zod";
import { resource } from "../resource.ts";
import { siteAdminOfAll } from "../../endpoint.ts";
import {
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

export const adminHookEndpoints = {
  ...resource(
    {
      name: "forge.admin.hooks",
      path: "/api/v1/admin/hooks",
      id: { id: pathInteger.brand<"HookId">() },
      shape: hookShape,
      gate: siteAdminOfAll,
    },
    ({ create, get, edit, remove, operation }) => ({
      listHooks: operation({
        as: "list",
        method: "GET",
        summary: "System hooks, default hooks or both",
        query: z.object({ ...paging, type: queryWord(["system", "default", "all"]) }),
        paging: "link_and_total",
        replies: { 200: z.array(hookShape) },
      }),
      createHook: create(
        "Create a system or default hook; inactive unless requested",
        newHookShape,
        { refuses: [400] },
      ),
      getHook: get("A system or default hook"),
      editHook: edit(
        "Change a hook; events, branch filter and authorization header are replaced even when absent",
        hookEditShape,
        { query: hookEditQuery, refuses: [400] },
      ),
      deleteHook: remove("Delete a system or default hook with its deliveries"),
    }),
  ),
  ...resource(
    {
      name: "forge.admin.hooks.deliveries",
      path: "/api/v1/admin/hooks/:id/deliveries",
      params: hookParams,
      id: { delivery_id: deliveryParams.shape.delivery_id },
      shape: deliveryDetailsShape,
      gate: siteAdminOfAll,
    },
    ({ get, operation }) => ({
      listDeliveries: operation({
        as: "list",
        method: "GET",
        summary: "The deliveries of a hook, newest first",
        query: z.object({ ...paging, state: queryWord(deliveryStates) }),
        paging: "link_and_total",
        replies: { 200: z.array(deliveryShape) },
      }),
      getDelivery: get("A delivery with its request and response"),
      redeliver: operation({
        method: "POST",
        item: true,
        at: "redeliver",
        summary: "Deliver the same payload once more, as a delivery of its own",
        replies: { 201: deliveryShape },
      }),
    }),
  ),
};
