import type { AnyEndpoint } from "./endpoint.ts";
import { adminActionEndpoints } from "./forge/admin-actions.ts";
import { adminBadgeEndpoints } from "./forge/admin-badges.ts";
import { adminCronEndpoints } from "./forge/admin-cron.ts";
import { adminEmailEndpoints } from "./forge/admin-emails.ts";
import { adminHookEndpoints } from "./forge/admin-hooks.ts";
import { adminKeyEndpoints } from "./forge/admin-keys.ts";
import { adminOrgEndpoints } from "./forge/admin-orgs.ts";
import { packageEndpoints } from "./forge/admin-packages.ts";
import { adminRepositoryEndpoints } from "./forge/admin-repositories.ts";
import { adminUserEndpoints } from "./forge/admin-users.ts";
import { avatarEndpoints } from "./forge/avatars.ts";
import { gitEndpoints } from "./forge/git.ts";
import { issueEndpoints } from "./forge/issues.ts";
import { logoEndpoints } from "./forge/logos.ts";
import { notificationEndpoints } from "./forge/notifications.ts";
import { genericPackageEndpoints } from "./forge/packages-generic.ts";
import { npmPackageEndpoints } from "./forge/packages-npm.ts";
import { renderingEndpoints } from "./forge/rendering.ts";
import { repositoryEndpoints } from "./forge/repositories.ts";
import { repositoryHookEndpoints } from "./forge/repository-hooks.ts";
import { statusEndpoints } from "./forge/statuses.ts";
import { templateEndpoints } from "./forge/templates.ts";
import { tokenEndpoints } from "./forge/tokens.ts";
import { transferEndpoints } from "./forge/transfers.ts";
import { twoFactorEndpoints } from "./forge/two-factor.ts";
import { unadoptedEndpoints } from "./forge/unadopted.ts";
import { userEmailEndpoints } from "./forge/user-emails.ts";
import { userEndpoints } from "./forge/users.ts";
import { versionEndpoints } from "./forge/version.ts";
import { vaultAdminEndpoints } from "./vault/admin.ts";
import { accountEndpoints } from "./vault/auth.ts";
import { cloudConnectionEndpoints } from "./vault/cloud-connections.ts";
import { cloudItemEndpoints } from "./vault/cloud-items.ts";

/** Every operation that the daemon serves, in the order of the documents. Tests, OpenAPI and the command line read it. */
export const allEndpoints: readonly AnyEndpoint[] = [
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
  ...adminRepositoryEndpoints,
  ...templateEndpoints,
  ...renderingEndpoints,
  ...logoEndpoints,
  ...versionEndpoints,
  ...userEndpoints,
  ...userEmailEndpoints,
  ...tokenEndpoints,
  ...twoFactorEndpoints,
  ...repositoryEndpoints,
  ...transferEndpoints,
  ...repositoryHookEndpoints,
  ...avatarEndpoints,
  ...gitEndpoints,
  ...notificationEndpoints,
  ...issueEndpoints,
  ...statusEndpoints,
  ...genericPackageEndpoints,
  ...npmPackageEndpoints,
  ...accountEndpoints,
  ...vaultAdminEndpoints,
  ...cloudConnectionEndpoints,
  ...cloudItemEndpoints,
];
