import {
  tagProtectionEndpoints,
  type WireTagProtection,
} from "../../contract/forge/repositories/tag-protections.ts";
import type { Route } from "../../http/handle.ts";
import { serve } from "../handle.ts";
import { toWireTime } from "../urls.ts";
import type { TagProtectionDetails, TagProtections } from "./tag-protections.service.ts";

/** Routes of the rules that protect tags. */
export function tagProtectionRoutes(protections: TagProtections): Route[] {
  return serve(tagProtectionEndpoints, {
    listTagProtections: async ({ opened }) => (await protections.list(opened)).map(toView),
    getTagProtection: async ({ opened, params }) =>
      toView(await protections.get(opened, params.id)),
    createTagProtection: async ({ opened, caller, body }) =>
      toView(await protections.create(opened, caller, body)),
    editTagProtection: async ({ opened, caller, params, body }) =>
      toView(await protections.edit(opened, caller, params.id, body)),
    deleteTagProtection: ({ opened, params }) => protections.remove(opened, params.id),
  });
}

/** Returns a rule. Its lists omit deleted users and teams. */
function toView(rule: TagProtectionDetails): WireTagProtection {
  return {
    id: rule.id,
    name_pattern: rule.namePattern,
    whitelist_usernames: rule.userIds.flatMap((id) => rule.usernames.get(id) ?? []),
    whitelist_teams: rule.teamIds.flatMap((id) => rule.teamNames.get(id) ?? []),
    created_at: toWireTime(rule.createdAt),
    updated_at: toWireTime(rule.updatedAt),
  };
}
