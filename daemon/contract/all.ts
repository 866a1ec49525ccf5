import type { AnyEndpoint } from "./endpoint.ts";
import { adminActionEndpoints } from "./forge/actions/actions.ts";
import { artifactServiceEndpoints } from "./forge/actions/artifact-service.ts";
import { artifactEndpoints } from "./forge/actions/artifacts.ts";
import { repositoryActionEndpoints } from "./forge/actions/repository-actions.ts";
import { ownerActionEndpoints } from "./forge/actions/owner-actions.ts";
import { runnerEndpoints } from "./forge/actions/runners.ts";
import { secretEndpoints } from "./forge/actions/secrets.ts";
import { workflowEndpoints } from "./forge/actions/workflows.ts";
import { variableEndpoints } from "./forge/actions/variables.ts";
import { adminBadgeEndpoints } from "./forge/accounts/badges.ts";
import { browsingEndpoints } from "./forge/code/browsing.ts";
import { branchEndpoints } from "./forge/code/branches.ts";
import { commitEndpoints } from "./forge/code/commits.ts";
import { contentsEndpoints } from "./forge/code/contents.ts";
import { issueTemplateEndpoints } from "./forge/code/issue-templates.ts";
import { objectEndpoints } from "./forge/code/objects.ts";
import { severalFilesEndpoints } from "./forge/code/several-files.ts";
import { tagEndpoints } from "./forge/code/tags.ts";
import { adminCronEndpoints } from "./forge/cron.ts";
import { adminEmailEndpoints } from "./forge/accounts/admin-emails.ts";
import { adminHookEndpoints } from "./forge/hooks/admin-hooks.ts";
import { adminKeyEndpoints, ownKeyEndpoints } from "./forge/accounts/keys.ts";
import { adminOrgEndpoints } from "./forge/accounts/orgs.ts";
import { memberEndpoints } from "./forge/organizations/members.ts";
import { organizationEndpoints } from "./forge/organizations/organizations.ts";
import { teamEndpoints } from "./forge/organizations/teams.ts";
import { packageEndpoints } from "./forge/packages/admin-packages.ts";
import { newRepositoryEndpoints } from "./forge/repositories/new-repositories.ts";
import { adminUserEndpoints } from "./forge/accounts/admin-users.ts";
import { avatarEndpoints } from "./forge/accounts/avatars.ts";
import { followerEndpoints } from "./forge/accounts/followers.ts";
import { invitationEndpoints } from "./forge/accounts/invitations.ts";
import { passwordResetEndpoints } from "./forge/accounts/password-reset.ts";
import { userSettingsEndpoints } from "./forge/accounts/settings.ts";
import { activityEndpoints } from "./forge/activities.ts";
import { starEndpoints } from "./forge/repositories/stars.ts";
import { reviewEndpoints } from "./forge/pulls/reviews.ts";
import { gitEndpoints } from "./forge/repositories/git.ts";
import { fileLockEndpoints, largeFileEndpoints } from "./forge/repositories/large-files.ts";
import { attachmentEndpoints } from "./forge/issues/attachments.ts";
import { issueEndpoints } from "./forge/issues/issues.ts";
import { assigneeEndpoints } from "./forge/issues/assignees.ts";
import { repositoryAvatarEndpoints } from "./forge/repositories/avatars.ts";
import { blockEndpoints } from "./forge/accounts/blocks.ts";
import { wikiEndpoints } from "./forge/repositories/wiki.ts";
import { issueDependencyEndpoints } from "./forge/issues/dependencies.ts";
import { trackedTimeEndpoints } from "./forge/issues/tracked-times.ts";
import { issueStateEndpoints } from "./forge/issues/issue-states.ts";
import { reactionEndpoints } from "./forge/issues/reactions.ts";
import { pullChangeEndpoints } from "./forge/pulls/pull-changes.ts";
import { mergeEndpoints } from "./forge/pulls/merges.ts";
import { pullEndpoints } from "./forge/pulls/pulls.ts";
import { releaseAssetEndpoints } from "./forge/releases/assets.ts";
import { releaseEndpoints } from "./forge/releases/releases.ts";
import { labelEndpoints } from "./forge/issues/labels.ts";
import { milestoneEndpoints } from "./forge/issues/milestones.ts";
import { logoEndpoints } from "./forge/logos.ts";
import { notificationEndpoints } from "./forge/notifications.ts";
import { genericPackageEndpoints } from "./forge/packages/generic.ts";
import {
  containerEndpoints,
  containerImageEndpoints,
  containerRegistryEndpoints,
  containerUploadEndpoints,
} from "./forge/packages/containers.ts";
import { npmPackageEndpoints } from "./forge/packages/npm.ts";
import { oauthApplicationEndpoints, oauthProviderEndpoints } from "./forge/accounts/oauth.ts";
import { pypiEndpoints } from "./forge/packages/pypi.ts";
import { renderingEndpoints } from "./forge/rendering.ts";
import { branchProtectionEndpoints } from "./forge/repositories/branch-protections.ts";
import { collaboratorEndpoints } from "./forge/repositories/collaborators.ts";
import { deployKeyEndpoints } from "./forge/repositories/deploy-keys.ts";
import { tagProtectionEndpoints } from "./forge/repositories/tag-protections.ts";
import { forkEndpoints, forkSyncEndpoints } from "./forge/repositories/forks.ts";
import { mirrorEndpoints } from "./forge/repositories/mirrors.ts";
import { repositoryTopicEndpoints } from "./forge/repositories/topics.ts";
import { languageEndpoints } from "./forge/repositories/languages.ts";
import { repositoryListEndpoints } from "./forge/repositories/lists.ts";
import { repositoryEndpoints } from "./forge/repositories/repositories.ts";
import { ownerHookEndpoints } from "./forge/hooks/owner-hooks.ts";
import { repositoryHookEndpoints } from "./forge/hooks/repository-hooks.ts";
import { statusEndpoints } from "./forge/repositories/statuses.ts";
import { templateEndpoints } from "./forge/templates.ts";
import { tokenEndpoints } from "./forge/accounts/tokens.ts";
import { transferEndpoints } from "./forge/repositories/transfers.ts";
import { twoFactorEndpoints } from "./forge/accounts/two-factor.ts";
import { unadoptedEndpoints } from "./forge/repositories/unadopted.ts";
import { userEmailEndpoints } from "./forge/accounts/emails.ts";
import { userEndpoints } from "./forge/accounts/users.ts";
import { instanceSettingsEndpoints } from "./forge/instance-settings.ts";
import { versionEndpoints } from "./forge/version.ts";
import { vaultAdminEndpoints } from "./vault/admin.ts";
import { aiConfigEndpoints } from "./vault/ai-config.ts";
import { accountEndpoints } from "./vault/auth.ts";
import { cloudConnectionEndpoints } from "./vault/cloud/connections.ts";
import { cloudItemEndpoints } from "./vault/cloud/items.ts";
import { cloudTrashEndpoints } from "./vault/cloud/trash.ts";
import { cloudUploadEndpoints } from "./vault/cloud/uploads.ts";
import { inboxEndpoints } from "./vault/inbox.ts";
import { shareInvitationEndpoints } from "./vault/invitations.ts";
import { documentEndpoints } from "./vault/documents.ts";
import { uploadSessionEndpoints } from "./vault/upload-sessions.ts";
import { jobEndpoints } from "./vault/jobs.ts";
import { linkEndpoints, linkPageEndpoints } from "./vault/links.ts";
import { searchEndpoints } from "./vault/search.ts";
import { shareEndpoints } from "./vault/shares.ts";
import { tokenEndpoints as machineTokenEndpoints } from "./vault/tokens.ts";
import { topicEndpoints } from "./vault/topics.ts";

/** The operations of the forge, in the order of its document. */
export const forge = {
  ...adminActionEndpoints,
  ...adminCronEndpoints,
  ...adminEmailEndpoints,
  ...adminHookEndpoints,
  ...adminOrgEndpoints,
  ...packageEndpoints,
  ...unadoptedEndpoints,
  ...adminUserEndpoints,
  ...adminBadgeEndpoints,
  ...adminKeyEndpoints,
  ...newRepositoryEndpoints,
  ...templateEndpoints,
  ...renderingEndpoints,
  ...logoEndpoints,
  ...versionEndpoints,
  ...instanceSettingsEndpoints,
  ...userEndpoints,
  ...userEmailEndpoints,
  ...ownKeyEndpoints,
  ...organizationEndpoints,
  ...memberEndpoints,
  ...teamEndpoints,
  ...tokenEndpoints,
  ...twoFactorEndpoints,
  ...repositoryListEndpoints,
  ...repositoryEndpoints,
  ...collaboratorEndpoints,
  ...branchProtectionEndpoints,
  ...tagProtectionEndpoints,
  ...deployKeyEndpoints,
  ...forkEndpoints,
  ...forkSyncEndpoints,
  ...mirrorEndpoints,
  ...repositoryTopicEndpoints,
  ...languageEndpoints,
  ...transferEndpoints,
  ...repositoryHookEndpoints,
  ...ownerHookEndpoints,
  ...avatarEndpoints,
  ...followerEndpoints,
  ...userSettingsEndpoints,
  ...invitationEndpoints,
  ...passwordResetEndpoints,
  ...activityEndpoints,
  ...starEndpoints,
  ...gitEndpoints,
  ...reviewEndpoints,
  ...largeFileEndpoints,
  ...fileLockEndpoints,
  ...notificationEndpoints,
  ...issueEndpoints,
  ...attachmentEndpoints,
  ...issueStateEndpoints,
  ...pullEndpoints,
  ...pullChangeEndpoints,
  ...mergeEndpoints,
  ...assigneeEndpoints,
  ...issueDependencyEndpoints,
  ...trackedTimeEndpoints,
  ...reactionEndpoints,
  ...repositoryAvatarEndpoints,
  ...blockEndpoints,
  ...wikiEndpoints,
  ...releaseEndpoints,
  ...releaseAssetEndpoints,
  ...labelEndpoints,
  ...milestoneEndpoints,
  ...statusEndpoints,
  ...branchEndpoints,
  ...tagEndpoints,
  ...commitEndpoints,
  ...severalFilesEndpoints,
  ...browsingEndpoints,
  ...issueTemplateEndpoints,
  ...objectEndpoints,
  ...contentsEndpoints,
  ...repositoryActionEndpoints,
  ...ownerActionEndpoints,
  ...runnerEndpoints,
  ...artifactEndpoints,
  ...artifactServiceEndpoints,
  ...secretEndpoints,
  ...variableEndpoints,
  ...workflowEndpoints,
  ...genericPackageEndpoints,
  ...npmPackageEndpoints,
  ...pypiEndpoints,
  ...oauthApplicationEndpoints,
  ...oauthProviderEndpoints,
  ...containerRegistryEndpoints,
  ...containerEndpoints,
  ...containerUploadEndpoints,
  ...containerImageEndpoints,
};

/** The operations of the vault, in the order of its document. */
export const vault = {
  ...accountEndpoints,
  ...machineTokenEndpoints,
  ...vaultAdminEndpoints,
  ...aiConfigEndpoints,
  ...jobEndpoints,
  ...cloudConnectionEndpoints,
  ...cloudItemEndpoints,
  ...cloudUploadEndpoints,
  ...cloudTrashEndpoints,
  ...documentEndpoints,
  ...uploadSessionEndpoints,
  ...shareInvitationEndpoints,
  ...shareEndpoints,
  ...linkEndpoints,
  ...linkPageEndpoints,
  ...topicEndpoints,
  ...inboxEndpoints,
  ...searchEndpoints,
};

/** Every operation that the daemon serves. */
export const allEndpoints: readonly AnyEndpoint[] = [
  ...Object.values(forge),
  ...Object.values(vault),
];
