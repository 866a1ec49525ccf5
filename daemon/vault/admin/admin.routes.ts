import * as contract from "../../contract/vault/admin.ts";
import type { Route } from "../../http/handle.ts";
import { toQuota } from "../accounts/accounts.view.ts";
import { handle } from "../handle.ts";
import * as view from "./admin.view.ts";
import type { VaultAdministration } from "./admin.ts";
import type { PageRequest } from "./users.service.ts";

/** The administration of accounts and the audit list. */
export function adminRoutes({ users, audit }: VaultAdministration): Route[] {
  return [
    handle(contract.listUsers, async ({ query }) => {
      const page = toPageRequest(query);
      const filter = { text: query.q, role: query.role, isActive: query.is_active };
      const found = await users.list(filter, page);
      return {
        status: 200,
        body: view.toPage(found.users.map(view.toManagedUser), found.total, page),
      };
    }),
    handle(contract.createUser, async ({ caller, body }) => ({
      status: 201,
      body: view.toManagedUser(await users.create(caller, body)),
    })),
    handle(contract.setUserStatus, async ({ caller, params, body }) => ({
      status: 200,
      body: view.toManagedUser(await users.setActive(caller, params.id, body.is_active)),
    })),
    handle(contract.resetUserPassword, async ({ caller, params }) => {
      await users.resetPassword(caller, params.id);
      return { status: 202, body: { message: "A link to choose another password is on its way." } };
    }),
    handle(contract.deleteUser, async ({ caller, params }) => {
      await users.remove(caller, params.id);
      return { status: 200, body: { message: "User deleted." } };
    }),
    handle(contract.viewUserQuota, async ({ params }) => ({
      status: 200,
      body: toQuota(await users.viewQuota(params.id)),
    })),
    handle(contract.setUserQuota, async ({ caller, params, body }) => ({
      status: 200,
      body: toQuota(await users.setQuota(caller, params.id, body.limit_bytes)),
    })),
    handle(contract.listAudit, async ({ query }) => {
      const page = toPageRequest(query);
      const { user_handle: userHandle, event_type: eventPrefix, from, to } = query;
      const found = await audit.list({ userHandle, eventPrefix, from, to }, page);
      return {
        status: 200,
        body: view.toPage(found.records.map(view.toAuditEntry), found.total, page),
      };
    }),
  ];
}

function toPageRequest(query: { readonly page: number; readonly per_page: number }): PageRequest {
  return { page: query.page, perPage: query.per_page };
}
