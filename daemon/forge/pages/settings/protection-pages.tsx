import {
  branchProtectionEndpoints,
  type WireBranchProtection,
} from "../../../contract/forge/repositories/branch-protections.ts";
import type { WireRepository } from "../../../contract/forge/repositories/repositories.ts";
import { tagProtectionEndpoints } from "../../../contract/forge/repositories/tag-protections.ts";
import type { ForgePageRoute } from "../forge-page.ts";
import {
  ActionForm,
  ActionMenu,
  DeleteEntry,
  Entries,
  readFlags,
  readText,
  readWords,
  type SettingsField,
} from "./settings-form.tsx";
import { type Request, settingsPage, type SettingsPlace, type View } from "./settings-page.tsx";

const isFixed = ({ archived }: WireRepository) => archived;

/** The rules that protect branches and tags. */
export function protectionPages(place: SettingsPlace<WireRepository>): ForgePageRoute[] {
  return [
    ...settingsPage(place, {
      at: "branches",
      title: "Protected branches",
      isFixed,
      show: showBranches,
      actions: {
        async create(request) {
          const body = { rule_name: readText(request, "rule"), ...readRule(request) };
          await request.call(branchProtectionEndpoints.createBranchProtection, {
            params: request.params,
            body,
          });
        },
        async edit(request) {
          await request.call(branchProtectionEndpoints.editBranchProtection, {
            params: ofRule(request),
            body: readRule(request),
          });
        },
        async delete(request) {
          await request.call(branchProtectionEndpoints.deleteBranchProtection, {
            params: ofRule(request),
          });
        },
      },
    }),
    ...settingsPage(place, {
      at: "tags",
      title: "Protected tags",
      isFixed,
      show: showTags,
      actions: {
        async create(request) {
          await request.call(tagProtectionEndpoints.createTagProtection, {
            params: request.params,
            body: readTagRule(request),
          });
        },
        async edit(request) {
          await request.call(tagProtectionEndpoints.editTagProtection, {
            params: ofId(request),
            body: readTagRule(request),
          });
        },
        async delete(request) {
          await request.call(tagProtectionEndpoints.deleteTagProtection, { params: ofId(request) });
        },
      },
    }),
  ];
}

const ofRule = (request: Request) => ({ ...request.params, rule: readText(request, "rule") });
const ofId = (request: Request) => ({ ...request.params, id: readText(request, "id") });

const flags = {
  enable_push: { label: "Pushes are allowed", type: "check" },
  enable_push_whitelist: { label: "Only the listed people and teams push", type: "check" },
  push_whitelist_deploy_keys: { label: "Deploy keys that write push too", type: "check" },
  enable_force_push: { label: "Forced pushes are allowed", type: "check" },
  enable_merge_whitelist: { label: "Only the listed people and teams merge", type: "check" },
  enable_status_check: { label: "The listed checks must succeed", type: "check" },
  block_on_rejected_reviews: { label: "A requested change blocks the merge", type: "check" },
  block_on_official_review_requests: { label: "An open request blocks the merge", type: "check" },
  block_on_outdated_branch: { label: "The branch must be up to date", type: "check" },
  dismiss_stale_approvals: { label: "A push dismisses approvals", type: "check" },
  require_signed_commits: { label: "Commits must be signed", type: "check" },
  block_admin_merge_override: { label: "The rule holds for administrators too", type: "check" },
} as const satisfies Record<string, SettingsField>;

const lists = {
  push_whitelist_usernames: { label: "People who push", isOptional: true },
  push_whitelist_teams: { label: "Teams that push", isOptional: true },
  merge_whitelist_usernames: { label: "People who merge", isOptional: true },
  merge_whitelist_teams: { label: "Teams that merge", isOptional: true },
} as const satisfies Record<string, SettingsField>;

const ruleFields = {
  ...flags,
  ...lists,
  required_approvals: { label: "Approvals that a merge needs", type: "number" },
  status_check_contexts: {
    label: "Checks that must succeed, one a line",
    type: "multiline",
    isOptional: true,
  },
  protected_file_patterns: {
    label: "Files that nobody changes by a push, as patterns with ; between",
    isOptional: true,
    max: 2048,
  },
  unprotected_file_patterns: {
    label: "Files that may be pushed in spite of the rule",
    isOptional: true,
    max: 2048,
  },
} as const satisfies Record<string, SettingsField>;

const readRule = (request: Request) => ({
  ...readFlags(request, Object.keys(flags)),
  ...Object.fromEntries(Object.keys(lists).map((name) => [name, readWords(request, name)])),
  required_approvals: Number(readText(request, "required_approvals") || "0"),
  status_check_contexts: readText(request, "status_check_contexts")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== ""),
  protected_file_patterns: readText(request, "protected_file_patterns"),
  unprotected_file_patterns: readText(request, "unprotected_file_patterns"),
});

const toValues = (rule: WireBranchProtection) => ({
  ...rule,
  ...Object.fromEntries(
    (Object.keys(lists) as (keyof typeof lists)[]).map((name) => [name, rule[name].join(" ")]),
  ),
  status_check_contexts: rule.status_check_contexts.join("\n"),
});

async function showBranches(view: View<WireRepository>) {
  const { body: rules } = await view.call(branchProtectionEndpoints.listBranchProtections, {
    params: view.params,
  });
  return (
    <>
      <Entries
        view={view}
        label="Rules"
        empty="No rules: those who may write push, force and delete every branch."
        entries={rules.map((rule) => ({
          key: rule.rule_name,
          name: <code>{rule.rule_name}</code>,
          note: toSummary(rule),
          tools: (
            <>
              <ActionMenu
                name="Edit"
                view={view}
                action="edit"
                submit="Save rule"
                fields={ruleFields}
                values={toValues(rule)}
                hidden={{ rule: rule.rule_name }}
              />
              <DeleteEntry
                view={view}
                hidden={{ rule: rule.rule_name }}
                submit={`Delete the rule ${rule.rule_name}`}
              />
            </>
          ),
        }))}
      />
      <ActionMenu
        name="New rule"
        view={view}
        action="create"
        submit="Protect"
        tone="primary"
        fields={{
          rule: { label: "Branch, or a pattern as in release/*", max: 255 },
          ...ruleFields,
        }}
        values={{ required_approvals: 0 }}
      />
    </>
  );
}

function toSummary(rule: WireBranchProtection): string {
  const pushes = rule.enable_push
    ? rule.enable_push_whitelist
      ? "listed people push"
      : "pushes are allowed"
    : "nobody pushes";
  const approvals = rule.required_approvals;
  return [
    pushes,
    approvals === 0 ? "" : `${approvals} ${approvals === 1 ? "approval" : "approvals"}`,
    rule.enable_status_check ? `checks: ${rule.status_check_contexts.join(", ")}` : "",
  ]
    .filter((text) => text !== "")
    .join(" · ");
}

const tagFields = {
  name_pattern: { label: "Tag, or a pattern as in v*; /regular expression/", max: 255 },
  whitelist_usernames: { label: "People who may create, move and delete", isOptional: true },
  whitelist_teams: { label: "Teams that may", isOptional: true },
} as const satisfies Record<string, SettingsField>;

const readTagRule = (request: Request) => ({
  name_pattern: readText(request, "name_pattern"),
  whitelist_usernames: readWords(request, "whitelist_usernames"),
  whitelist_teams: readWords(request, "whitelist_teams"),
});

async function showTags(view: View<WireRepository>) {
  const { body: rules } = await view.call(tagProtectionEndpoints.listTagProtections, {
    params: view.params,
  });
  return (
    <>
      <Entries
        view={view}
        label="Rules"
        empty="No rules: those who may write create, move and delete every tag."
        entries={rules.map((rule) => {
          const hidden = { id: String(rule.id) };
          const people = rule.whitelist_usernames.join(" ");
          const teams = rule.whitelist_teams.join(" ");
          return {
            key: rule.id,
            name: <code>{rule.name_pattern}</code>,
            note: `${people} ${teams}`.trim() || "nobody",
            tools: (
              <>
                <ActionMenu
                  name="Edit"
                  view={view}
                  action="edit"
                  submit="Save rule"
                  fields={tagFields}
                  values={{
                    name_pattern: rule.name_pattern,
                    whitelist_usernames: people,
                    whitelist_teams: teams,
                  }}
                  hidden={hidden}
                />
                <DeleteEntry
                  view={view}
                  hidden={hidden}
                  submit={`Delete the rule ${rule.name_pattern}`}
                />
              </>
            ),
          };
        })}
      />
      <ActionForm
        view={view}
        action="create"
        submit="Protect"
        heading="New rule"
        fields={tagFields}
      />
    </>
  );
}
