import type { AnyEndpoint } from "./endpoint.ts";
import { adminUserEndpoints } from "./forge/admin-users.ts";
import { tokenEndpoints } from "./forge/tokens.ts";
import { userEndpoints } from "./forge/users.ts";
import { versionEndpoints } from "./forge/version.ts";
import { vaultAdminEndpoints } from "./vault/admin.ts";
import { accountEndpoints } from "./vault/auth.ts";

/** Every operation that the daemon serves, in the order of the documents. Tests, OpenAPI and the command line read it. */
export const allEndpoints: readonly AnyEndpoint[] = [
  ...adminUserEndpoints,
  ...versionEndpoints,
  ...userEndpoints,
  ...tokenEndpoints,
  ...accountEndpoints,
  ...vaultAdminEndpoints,
];
