import * as contract from "../../contract/vault/admin.ts";
import type { Route } from "../../http/handle.ts";
import { toQuota } from "../accounts/accounts.view.ts";
import { handle } from "../handle.ts";
import { toPage, toPageRequest } from "../page.ts";
import * as view from "./admin.view.ts";
import type { VaultAdministration } from "./admin.ts";
import type { AuditConditions } from "./audit.service.ts";

/** The administration of accounts and the audit trail. */
export function adminRoutes({
  users,
  localFolders,
  audit,
  auditChain,
  dailyExports,
  overview,
}: VaultAdministration): Route[] {
  return [
    handle(contract.vaultAdminEndpoints.listUsers, async ({ query }) => {
      const page = toPageRequest(query);
      const filter = { text: query.q, role: query.role, isActive: query.is_active };
      const found = await users.list(filter, page);
      return {
        status: 200,
        body: toPage(found.users.map(view.toManagedUser), found.total, page),
      };
    }),
    handle(contract.vaultAdminEndpoints.createUser, async ({ caller, body }) => ({
      status: 201,
      body: view.toManagedUser(await users.create(caller, body)),
    })),
    handle(contract.vaultAdminEndpoints.invitePerson, async ({ caller, body }) => ({
      status: 201,
      body: view.toInvitation(await users.invite(caller, { ...body, forgeCode: body.forge_code })),
    })),
    handle(contract.vaultAdminEndpoints.editUser, async ({ caller, params, body }) => ({
      status: 200,
      body: view.toManagedUser(await users.edit(caller, params.id, body)),
    })),
    handle(contract.vaultAdminEndpoints.setUserStatus, async ({ caller, params, body }) => ({
      status: 200,
      body: view.toManagedUser(await users.setActive(caller, params.id, body.is_active)),
    })),
    handle(contract.vaultAdminEndpoints.resetUserPassword, async ({ caller, params }) => {
      await users.resetPassword(caller, params.id);
      return { status: 202, body: { message: "A link to choose another password is on its way." } };
    }),
    handle(contract.vaultAdminEndpoints.deleteUser, async ({ caller, params }) => {
      await users.remove(caller, params.id);
      return { status: 200, body: { message: "User deleted." } };
    }),
    handle(contract.vaultAdminEndpoints.viewUserQuota, async ({ params }) => ({
      status: 200,
      body: toQuota(await users.viewQuota(params.id)),
    })),
    handle(contract.vaultAdminEndpoints.setUserQuota, async ({ caller, params, body }) => ({
      status: 200,
      body: toQuota(await users.setQuota(caller, params.id, body.limit_bytes)),
    })),
    handle(contract.vaultAdminEndpoints.viewUserLocalFolders, async ({ params }) => ({
      status: 200,
      body: view.toLocalFolders(await localFolders.listGrants(params.id)),
    })),
    handle(contract.vaultAdminEndpoints.setUserLocalFolders, async ({ caller, params, body }) => ({
      status: 200,
      body: view.toLocalFolders(await localFolders.setGrants(caller, params.id, body.folders)),
    })),
    handle(contract.vaultAdminEndpoints.listAudit, async ({ query }) => {
      const page = toPageRequest(query);
      const found = await audit.list(toConditions(query), page);
      return {
        status: 200,
        body: toPage(found.records.map(view.toAuditEntry), found.total, page),
      };
    }),
    handle(contract.vaultAdminEndpoints.exportAudit, async ({ query }) =>
      view.toCsvAnswer(await audit.exportCsv(toConditions(query))),
    ),
    handle(contract.vaultAdminEndpoints.verifyAudit, async ({ query }) => ({
      status: 200,
      body: view.toChainReport(await auditChain.verify(query.head)),
    })),
    handle(contract.vaultAdminEndpoints.listAuditHeads, async ({ query }) => {
      const page = toPageRequest(query);
      const found = await auditChain.listHeads(page);
      return {
        status: 200,
        body: toPage(found.records.map(view.toAuditHead), found.total, page),
      };
    }),
    handle(contract.vaultAdminEndpoints.listDailyExports, async ({ query }) => {
      const page = toPageRequest(query);
      const found = await dailyExports.list(page);
      return {
        status: 200,
        body: toPage(found.exports.map(view.toDailyExport), found.total, page),
      };
    }),
    handle(contract.vaultAdminEndpoints.downloadDailyExport, async ({ params }) =>
      view.toDailyExportAnswer(await dailyExports.open(params.date)),
    ),
    handle(contract.vaultAdminEndpoints.viewOverview, async () => ({
      status: 200,
      body: view.toOverview(await overview.view()),
    })),
  ];
}

function toConditions(query: {
  readonly user_handle?: string | undefined;
  readonly event_type?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}): AuditConditions {
  const { user_handle: userHandle, event_type: eventPrefix, from, to } = query;
  return { userHandle, eventPrefix, from, to };
}
