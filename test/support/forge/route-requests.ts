import type { Endpoint } from "../../../daemon/contract/endpoint.ts";
import type { TestRequest } from "../daemon.ts";

// Requests that a route carries out when its caller may: the authorization matrices send them to every route.

/** Starts every text of the private objects that no path contains. */
export const CANARY = "canary-text";
/** Two public keys. */
export const DEPLOY_KEYS = [
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIwkvnrOfUdAi91uJj8yiIOpTiseQE1PWZq39ZgFe+8W",
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILG50ok55EvDsV+0a04LcHl6cLFC8FgzCsgLHfCBggZe",
] as const;

/** Bodies that would change something, where an empty one would be refused for its shape. */
const BODIES: Readonly<Record<string, unknown>> = {
  "forge.large_files.batch": {
    operation: "upload",
    objects: [{ oid: "0".repeat(64), size: 1 }],
  },
  "forge.large_files.verify": { oid: "0".repeat(64), size: 1 },
  "forge.file_locks.create": { path: "changed.txt" },
  "forge.repos.actions.workflows.dispatch": { ref: "main" },
  "forge.issues.attachments.edit": { name: "changed" },
  "forge.issues.comments.attachments.edit": { name: "changed" },
  "forge.repos.avatar.set": { image: "R0lGODlhCAAIAAAAADs=" },
  "forge.repos.apply_patch": { content: "--- /dev/null\n+++ b/patched.txt\n@@ -0,0 +1 @@\n+x\n" },
  "forge.orgs.avatar.set": { image: "R0lGODlhCAAIAAAAADs=" },
  "forge.admin.users.edit": { source_id: 0, login_name: "changed", full_name: "changed" },
  "forge.admin.users.rename": { new_username: "changed" },
  "forge.admin.users.badges.add": { badge_slugs: ["none"] },
  "forge.admin.orgs.create": { username: "changed" },
  "forge.admin.repos.create": { name: "changed" },
  "forge.orgs.repos.create": { name: "changed" },
  "forge.org.repos.create": { name: "changed" },
  "forge.orgs.create": { username: "changed" },
  "forge.orgs.edit": { description: "changed" },
  "forge.orgs.rename": { new_name: "changed" },
  "forge.orgs.teams.create": { name: "changed", permission: "admin" },
  "forge.teams.edit": { description: "changed" },
  "forge.issues.create": { title: "changed" },
  "forge.issues.edit": { title: "changed" },
  "forge.issues.comments.create": { body: "changed" },
  "forge.issues.comments.edit": { body: "changed" },
  "forge.issues.assignees.add": { assignees: ["mira"] },
  "forge.issues.assignees.remove": { assignees: ["hermit"] },
  "forge.issues.dependencies.add": { index: 2 },
  "forge.issues.dependencies.remove": { index: 2 },
  "forge.issues.blocks.add": { index: 2 },
  "forge.issues.blocks.remove": { index: 2 },
  "forge.issues.times.add": { time: 60 },
  "forge.issues.comments.edit_of_issue": { body: "changed" },
  "forge.repos.files.read": { files: ["README.md"] },
  "forge.repos.branches.create": { new_branch_name: "changed" },
  "forge.repos.branches.update": { new_commit_id: "main" },
  "forge.repos.branches.rename": { name: "changed" },
  "forge.repos.tags.create": { tag_name: "changed" },
  "forge.repos.wiki.create": { title: "changed" },
  "forge.repos.releases.create": { tag_name: "released" },
  "forge.repos.releases.generate_notes": { tag_name: "released" },
  "forge.repos.releases.edit": { body: "changed" },
  "forge.repos.releases.assets.edit": { name: "changed" },
  "forge.issues.reactions.add": { content: "heart" },
  "forge.issues.reactions.remove": { content: "heart" },
  "forge.issues.comments.reactions.add": { content: "heart" },
  "forge.issues.comments.reactions.remove": { content: "heart" },
  "forge.issues.labels.add": { labels: [CANARY] },
  "forge.repos.labels.create": { name: "theirs", color: "ff0000" },
  "forge.repos.labels.edit": { name: "theirs" },
  "forge.orgs.labels.create": { name: "theirs", color: "ff0000" },
  "forge.orgs.labels.edit": { name: "theirs" },
  "forge.repos.milestones.create": { title: "theirs" },
  "forge.repos.milestones.edit": { title: "theirs" },
  "forge.repos.contents.delete": { sha: "0".repeat(40) },
  "forge.repos.contents.change": {
    files: [{ operation: "create", path: "changed", content: "" }],
  },
  "forge.repos.edit": { description: "changed" },
  "forge.repos.hooks.create": {
    type: "gitea",
    config: { url: "http://127.0.0.1:9/", content_type: "json" },
  },
  "forge.repos.hooks.edit": { active: false },
  "forge.orgs.hooks.create": {
    type: "gitea",
    config: { url: "http://127.0.0.1:9/", content_type: "json" },
  },
  "forge.user.hooks.create": {
    type: "gitea",
    config: { url: "http://127.0.0.1:9/", content_type: "json" },
  },
  "forge.repos.generate": { owner: "root", name: "changed", git_content: true },
  "forge.repos.topics.replace": { topics: ["changed"] },
  "forge.repos.keys.add": { title: "changed", key: DEPLOY_KEYS[1] },
  "forge.packages.npm.tags.set": "1.0.0",
  "forge.packages.npm.scoped.tags.set": "1.0.0",
  "forge.repos.actions.secrets.put": { data: "changed" },
  "forge.repos.actions.variables.create": { value: "changed" },
  "forge.repos.actions.variables.edit": { value: "changed" },
  "forge.orgs.actions.secrets.put": { data: "changed" },
  "forge.orgs.actions.variables.create": { value: "changed" },
  "forge.orgs.actions.variables.edit": { value: "changed" },
  "forge.admin.hooks.edit": { active: false },
  "forge.repos.statuses.create": { state: "success" },
  "forge.repos.transfer.start": { new_owner: "mira" },
  "forge.tokens.create": { name: "changed", scopes: ["all"] },
  "vault.cloud.connections.edit": { display_name: "changed" },
  "vault.topics.create_system": { name: "changed" },
  "vault.cloud.items.mkdir": { name: "changed" },
  "vault.cloud.items.rename": { name: "changed" },
  "vault.cloud.items.move": { target_folder_id: "" },
};

/** Queries without which a route refuses a request before it looks up the object, or would change nothing. */
export const QUERIES: Readonly<Record<string, string>> = {
  "forge.admin.users.delete": "?purge=true",
  "forge.git.refs": "?service=git-upload-pack",
  "forge.repos.files.get": `?body=${encodeURIComponent('{"files":["README.md"]}')}`,
};

/** The body of a request to a route, in the form that it takes. */
export function toBody({ name, body }: Endpoint): TestRequest {
  if (body !== undefined && "kind" in body && body.kind === "multipart") {
    const form = new FormData();
    form.append("attachment", new File(["changed"], "changed.txt"));
    return { body: form };
  }
  const service = { "forge.git.fetch": "git-upload-pack", "forge.git.push": "git-receive-pack" }[
    name
  ];
  if (service === undefined) return { json: BODIES[name] ?? {} };
  return { headers: { "Content-Type": `application/x-${service}-request` }, body: "0000" };
}
