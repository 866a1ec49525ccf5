import {
  protectionFlags,
  protectionTeamLists,
  protectionTexts,
  protectionUserLists,
  type WireBranchProtection,
} from "../../contract/forge/repositories/branch-protections.ts";
import { toWireTime } from "../urls.ts";
import type { ProtectionDetails } from "./branch-protections.service.ts";
import { isPattern } from "./name-patterns.ts";

/** Returns a rule. Its lists omit deleted users and teams. */
export function toProtectionView(rule: ProtectionDetails): WireBranchProtection {
  const { ruleName, settings, usernames, teamNames } = rule;
  const toMembers = <K extends string, V>(names: readonly K[], toValue: (name: K) => V) =>
    Object.fromEntries(names.map((name) => [name, toValue(name)])) as Record<K, V>;
  const toNames = <I extends number>(
    ids: readonly I[] | undefined,
    names: ReadonlyMap<I, string>,
  ) => (ids ?? []).flatMap((id) => names.get(id) ?? []);
  return {
    id: rule.id,
    branch_name: isPattern(ruleName) ? "" : ruleName,
    rule_name: ruleName,
    priority: rule.priority,
    ...toMembers(protectionFlags, (name) => settings.flags[name] ?? false),
    ...toMembers(protectionUserLists, (name) => toNames(settings.users[name], usernames)),
    ...toMembers(protectionTeamLists, (name) => toNames(settings.teams[name], teamNames)),
    ...toMembers(protectionTexts, (name) => settings.texts[name] ?? ""),
    status_check_contexts: [...settings.statusCheckContexts],
    required_approvals: settings.requiredApprovals,
    created_at: toWireTime(rule.createdAt),
    updated_at: toWireTime(rule.updatedAt),
  };
}
