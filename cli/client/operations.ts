// cli/client: sends requests to the daemon: operations, transports, credentials, the vault session, errors of
// responses. Start with client.ts; operations.ts lists the operations, transport.ts sends, authorize.ts adds the
// credentials.
import type * as adminEmails from "../../daemon/contract/forge/accounts/admin-emails.ts";
import type * as adminUsers from "../../daemon/contract/forge/accounts/admin-users.ts";
import type * as avatars from "../../daemon/contract/forge/accounts/avatars.ts";
import type * as badges from "../../daemon/contract/forge/accounts/badges.ts";
import type * as emails from "../../daemon/contract/forge/accounts/emails.ts";
import type * as followers from "../../daemon/contract/forge/accounts/followers.ts";
import type * as keys from "../../daemon/contract/forge/accounts/keys.ts";
import type * as orgs from "../../daemon/contract/forge/accounts/orgs.ts";
import type * as passwordReset from "../../daemon/contract/forge/accounts/password-reset.ts";
import type * as userSettings from "../../daemon/contract/forge/accounts/settings.ts";
import type * as tokens from "../../daemon/contract/forge/accounts/tokens.ts";
import type * as twoFactor from "../../daemon/contract/forge/accounts/two-factor.ts";
import type * as users from "../../daemon/contract/forge/accounts/users.ts";
import type * as actions from "../../daemon/contract/forge/actions/actions.ts";
import type * as ownerActions from "../../daemon/contract/forge/actions/owner-actions.ts";
import type * as actionRunners from "../../daemon/contract/forge/actions/runners.ts";
import type * as artifactService from "../../daemon/contract/forge/actions/artifact-service.ts";
import type * as artifacts from "../../daemon/contract/forge/actions/artifacts.ts";
import type * as repositoryActions from "../../daemon/contract/forge/actions/repository-actions.ts";
import type * as branches from "../../daemon/contract/forge/code/branches.ts";
import type * as commits from "../../daemon/contract/forge/code/commits.ts";
import type * as contents from "../../daemon/contract/forge/code/contents.ts";
import type * as issueTemplates from "../../daemon/contract/forge/code/issue-templates.ts";
import type * as objects from "../../daemon/contract/forge/code/objects.ts";
import type * as severalFiles from "../../daemon/contract/forge/code/several-files.ts";
import type * as tags from "../../daemon/contract/forge/code/tags.ts";
import type * as actionSecrets from "../../daemon/contract/forge/actions/secrets.ts";
import type * as actionVariables from "../../daemon/contract/forge/actions/variables.ts";
import type * as actionWorkflows from "../../daemon/contract/forge/actions/workflows.ts";
import type * as activities from "../../daemon/contract/forge/activities.ts";
import type * as cron from "../../daemon/contract/forge/cron.ts";
import type * as adminHooks from "../../daemon/contract/forge/hooks/admin-hooks.ts";
import type * as ownerHooks from "../../daemon/contract/forge/hooks/owner-hooks.ts";
import type * as repositoryHooks from "../../daemon/contract/forge/hooks/repository-hooks.ts";
import type * as instanceSettings from "../../daemon/contract/forge/instance-settings.ts";
import type * as assignees from "../../daemon/contract/forge/issues/assignees.ts";
import type * as attachments from "../../daemon/contract/forge/issues/attachments.ts";
import type * as dependencies from "../../daemon/contract/forge/issues/dependencies.ts";
import type * as issues from "../../daemon/contract/forge/issues/issues.ts";
import type * as issueStates from "../../daemon/contract/forge/issues/issue-states.ts";
import type * as trackedTimes from "../../daemon/contract/forge/issues/tracked-times.ts";
import type * as reactions from "../../daemon/contract/forge/issues/reactions.ts";
import type * as labels from "../../daemon/contract/forge/issues/labels.ts";
import type * as milestones from "../../daemon/contract/forge/issues/milestones.ts";
import type * as logos from "../../daemon/contract/forge/logos.ts";
import type * as notifications from "../../daemon/contract/forge/notifications.ts";
import type * as organizationMembers from "../../daemon/contract/forge/organizations/members.ts";
import type * as organizations from "../../daemon/contract/forge/organizations/organizations.ts";
import type * as teams from "../../daemon/contract/forge/organizations/teams.ts";
import type * as adminPackages from "../../daemon/contract/forge/packages/admin-packages.ts";
import type * as generic from "../../daemon/contract/forge/packages/generic.ts";
import type * as npm from "../../daemon/contract/forge/packages/npm.ts";
import type * as rendering from "../../daemon/contract/forge/rendering.ts";
import type * as branchProtections from "../../daemon/contract/forge/repositories/branch-protections.ts";
import type * as collaborators from "../../daemon/contract/forge/repositories/collaborators.ts";
import type * as languages from "../../daemon/contract/forge/repositories/languages.ts";
import type * as topics from "../../daemon/contract/forge/repositories/topics.ts";
import type * as deployKeys from "../../daemon/contract/forge/repositories/deploy-keys.ts";
import type * as repositoryLists from "../../daemon/contract/forge/repositories/lists.ts";
import type * as newRepositories from "../../daemon/contract/forge/repositories/new-repositories.ts";
import type * as git from "../../daemon/contract/forge/repositories/git.ts";
import type * as repositories from "../../daemon/contract/forge/repositories/repositories.ts";
import type * as stars from "../../daemon/contract/forge/repositories/stars.ts";
import type * as statuses from "../../daemon/contract/forge/repositories/statuses.ts";
import type * as transfers from "../../daemon/contract/forge/repositories/transfers.ts";
import type * as unadopted from "../../daemon/contract/forge/repositories/unadopted.ts";
import type * as templates from "../../daemon/contract/forge/templates.ts";
import type * as version from "../../daemon/contract/forge/version.ts";
import type * as vaultAiConfig from "../../daemon/contract/vault/ai-config.ts";
import type * as vaultAdmin from "../../daemon/contract/vault/admin.ts";
import type * as vaultAuth from "../../daemon/contract/vault/auth.ts";
import type * as vaultConnections from "../../daemon/contract/vault/cloud/connections.ts";
import type * as vaultItems from "../../daemon/contract/vault/cloud/items.ts";
import type * as vaultUploads from "../../daemon/contract/vault/cloud/uploads.ts";
import type * as vaultTrash from "../../daemon/contract/vault/cloud/trash.ts";
import type * as vaultDocuments from "../../daemon/contract/vault/documents.ts";
import type * as vaultJobs from "../../daemon/contract/vault/jobs.ts";
import type * as vaultSearch from "../../daemon/contract/vault/search.ts";
import type * as vaultShares from "../../daemon/contract/vault/shares.ts";
import type * as vaultTokens from "../../daemon/contract/vault/tokens.ts";
import type * as vaultTopics from "../../daemon/contract/vault/topics.ts";
import table from "./operations.json" with { type: "json" };
import type {
  AnyEndpoint,
  InputOf as EndpointInput,
  Method,
} from "../../daemon/contract/endpoint.ts";

/** The operations of the endpoint values that contract modules export, under the same names. */
type Operations<Modules> = {
  readonly [
    K in keyof Modules as Modules[K] extends AnyEndpoint ? K : never
  ]: Modules[K] extends AnyEndpoint ? Operation<Modules[K]> : never;
};

type Forge = typeof adminEmails &
  typeof adminUsers &
  typeof avatars &
  typeof badges &
  typeof emails &
  typeof followers &
  typeof keys &
  typeof userSettings &
  typeof passwordReset &
  typeof activities &
  typeof stars &
  typeof orgs &
  typeof organizationMembers &
  typeof organizations &
  typeof teams &
  typeof tokens &
  typeof twoFactor &
  typeof users &
  typeof actions &
  typeof repositoryActions &
  typeof artifacts &
  typeof artifactService &
  typeof branches &
  typeof commits &
  typeof contents &
  typeof issueTemplates &
  typeof severalFiles &
  typeof objects &
  typeof tags &
  typeof ownerActions &
  typeof actionRunners &
  typeof actionSecrets &
  typeof actionVariables &
  typeof actionWorkflows &
  typeof cron &
  typeof adminHooks &
  typeof ownerHooks &
  typeof repositoryHooks &
  typeof issues &
  typeof attachments &
  typeof issueStates &
  typeof assignees &
  typeof dependencies &
  typeof trackedTimes &
  typeof instanceSettings &
  typeof reactions &
  typeof labels &
  typeof milestones &
  typeof logos &
  typeof notifications &
  typeof adminPackages &
  typeof generic &
  typeof npm &
  typeof rendering &
  typeof newRepositories &
  typeof repositoryLists &
  typeof collaborators &
  typeof deployKeys &
  typeof topics &
  typeof languages &
  typeof branchProtections &
  typeof git &
  typeof repositories &
  typeof statuses &
  typeof transfers &
  typeof unadopted &
  typeof templates &
  typeof version;

type Vault = typeof vaultAdmin &
  typeof vaultAiConfig &
  typeof vaultJobs &
  typeof vaultAuth &
  typeof vaultConnections &
  typeof vaultItems &
  typeof vaultTrash &
  typeof vaultUploads &
  typeof vaultDocuments &
  typeof vaultShares &
  typeof vaultTokens &
  typeof vaultTopics &
  typeof vaultSearch;

// `test/cli/operations.test.ts -u` writes the table from the endpoint values. These are types here, because their schemas take
// longer to load than a whole command does: 50 ms for zod and another 65 ms for the contract of the forge's users, from
// sources. The build turns the table into an object literal, which costs nothing; parsing lines into it took 4 ms of 65.

/** The operations of the forge, as `daemon/contract/forge` declares them. */
export const forge = table.forge as unknown as Operations<Forge>;

/** The operations of the vault, as `daemon/contract/vault` declares them. */
export const vault = table.vault as unknown as Operations<Vault>;

/** The part of an endpoint value that sending a request takes, without the schemas, whose loading takes long. */
export interface Operation<E extends AnyEndpoint> {
  readonly name: string;
  readonly method: Method;
  readonly path: E["path"];
  /** Exists in types only: carries the endpoint's inputs and responses. */
  readonly endpoint?: E;
}

/** An operation of any shape. */
export interface AnyOperation {
  readonly name: string;
  readonly method: Method;
  readonly path: string;
}

/** Params, query and body of an operation: `InputOf<typeof forge.listUsers>`. */
export type InputOf<O> = O extends Operation<infer E> ? EndpointInput<E> : never;
