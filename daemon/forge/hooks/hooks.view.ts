import type {
  HookDelivery,
  HookDeliveryDetails,
} from "../../../storage/tables/forge/hooks/deliveries.ts";
import type {
  adminHookEndpoints,
  WireDelivery,
  WireDeliveryDetails,
  WireHook,
} from "../../contract/forge/hooks/admin-hooks.ts";
import type { BodyOf } from "../../contract/endpoint.ts";
import { toWireTime } from "../urls.ts";
import type { HookChanges, OpenedHook, NewHook } from "./hooks.service.ts";

/** A hook. */
export function toHookView({ hook, url }: OpenedHook): WireHook {
  const slack = hook.slack && {
    channel: hook.slack.channel,
    username: hook.slack.username,
    icon_url: hook.slack.iconUrl,
    color: hook.slack.color,
  };
  return {
    id: hook.id,
    name: hook.name,
    type: hook.kind,
    branch_filter: hook.branchFilter,
    config: { url, content_type: hook.contentType, ...slack },
    events: [...hook.events],
    authorization_header: "",
    active: hook.isActive,
    updated_at: toWireTime(hook.updatedAt),
    created_at: toWireTime(hook.createdAt),
  };
}

/** Converts the body of a creation to a new hook. */
export function toNewHook(body: BodyOf<typeof adminHookEndpoints.createHook>): NewHook {
  return {
    type: body.type,
    config: body.config,
    events: body.events ?? [],
    branchFilter: body.branch_filter ?? "",
    authorizationHeader: body.authorization_header ?? "",
    isActive: body.active ?? false,
    name: body.name ?? "",
  };
}

/** The changes of an edit. An absent authorization header clears it unless the request keeps it. */
export function toHookChanges(
  body: BodyOf<typeof adminHookEndpoints.editHook>,
  keepsAuthorizationHeader: boolean,
): HookChanges {
  return {
    config: body.config ?? {},
    events: body.events ?? [],
    branchFilter: body.branch_filter ?? "",
    authorizationHeader: body.authorization_header ?? (keepsAuthorizationHeader ? undefined : ""),
    isActive: body.active ?? undefined,
    name: body.name ?? undefined,
  };
}

export function toDeliveryView(delivery: HookDelivery): WireDelivery {
  return {
    id: delivery.id,
    hook_id: delivery.hookId,
    uuid: delivery.uuid,
    event: delivery.event,
    state: delivery.state,
    attempts: delivery.attempts,
    redelivery: delivery.isRedelivery,
    created_at: toWireTime(delivery.createdAt),
    attempted_at: toTime(delivery.attemptedAt),
    next_attempt_at: toTime(delivery.nextAttemptAt),
    duration_ms: delivery.durationMs ?? null,
    response_status: delivery.responseStatus ?? null,
    error: delivery.error ?? null,
  };
}

export function toDeliveryDetailsView(delivery: HookDeliveryDetails): WireDeliveryDetails {
  const { responseStatus, responseHeaders, responseBody } = delivery;
  return {
    ...toDeliveryView(delivery),
    request: { headers: { ...delivery.requestHeaders }, body: delivery.payload },
    response:
      responseStatus === undefined
        ? null
        : { headers: { ...responseHeaders }, body: responseBody ?? "" },
  };
}

function toTime(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : toWireTime(epochMs);
}
