import * as contract from "../../contract/vault/admin.ts";
import type { Route } from "../../http/handle.ts";
import { toQuota } from "../accounts/accounts.view.ts";
import { serve } from "../handle.ts";
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
    ...serve(contract.vaultAdminEndpoints, {
      listUsers: async ({ query }) => {
        const page = toPageRequest(query);
        const filter = { text: query.q, role: query.role, isActive: query.is_active };
        const found = await users.list(filter, page);
        return toPage(found.users.map(view.toManagedUser), found.total, page);
      },
      createUser: async ({ caller, body }) => view.toManagedUser(await users.create(caller, body)),
      invitePerson: async ({ caller, body }) =>
        view.toInvitation(await users.invite(caller, { ...body, forgeCode: body.forge_code })),
      editUser: async ({ caller, params, body }) =>
        view.toManagedUser(await users.edit(caller, params.id, body)),
      setUserStatus: async ({ caller, params, body }) =>
        view.toManagedUser(await users.setActive(caller, params.id, body.is_active)),
      resetUserPassword: async ({ caller, params }) => {
        await users.resetPassword(caller, params.id);
        return { message: "A link to choose another password is on its way." };
      },
      deleteUser: async ({ caller, params }) => {
        await users.remove(caller, params.id);
        return { message: "User deleted." };
      },
      viewUserQuota: async ({ params }) => toQuota(await users.viewQuota(params.id)),
      setUserQuota: async ({ caller, params, body }) =>
        toQuota(await users.setQuota(caller, params.id, body.limit_bytes)),
      viewUserLocalFolders: async ({ params }) =>
        view.toLocalFolders(await localFolders.listGrants(params.id)),
      setUserLocalFolders: async ({ caller, params, body }) =>
        view.toLocalFolders(await localFolders.setGrants(caller, params.id, body.folders)),
      listAudit: async ({ query }) => {
        const page = toPageRequest(query);
        const found = await audit.list(toConditions(query), page);
        return toPage(found.records.map(view.toAuditEntry), found.total, page);
      },
      exportAudit: async ({ query }) =>
        view.toCsvAnswer(await audit.exportCsv(toConditions(query))),
      verifyAudit: async ({ query }) => view.toChainReport(await auditChain.verify(query.head)),
      listAuditHeads: async ({ query }) => {
        const page = toPageRequest(query);
        const found = await auditChain.listHeads(page);
        return toPage(found.records.map(view.toAuditHead), found.total, page);
      },
      listDailyExports: async ({ query }) => {
        const page = toPageRequest(query);
        const found = await dailyExports.list(page);
        return toPage(found.exports.map(view.toDailyExport), found.total, page);
      },
      downloadDailyExport: async ({ params }) =>
        view.toDailyExportAnswer(await dailyExports.open(params.date)),
      viewOverview: async () => view.toOverview(await overview.view()),
    }),
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
