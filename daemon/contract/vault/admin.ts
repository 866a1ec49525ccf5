import { z } from "zod";
import { bytesOf, endpoint, vaultAdministrator, vaultAdministratorInSession } from "../endpoint.ts";
import { quota, role, user } from "./auth.ts";
import {
  detail,
  email,
  handleName,
  line,
  message,
  oneOf,
  pageOf,
  paging,
  queryFlag,
  time,
  uuid,
} from "./common.ts";

/** A user as administrators see it. */
export const managedUser = user.extend({
  is_active: z.boolean(),
  password_must_change: z.boolean(),
});

/** The categories of events, by which the audit list is filtered. An event type begins with one of them and a dot. */
export const eventPrefix = z.enum(["auth", "cloud", "document", "share", "admin", "system"]);

/** One audit record, with the names of the accounts it is about if they still exist. */
export const auditEntry = z.object({
  id: z.int(),
  event_type: z.string(),
  user_id: uuid.nullable(),
  user_handle: z.string().nullable(),
  user_email: z.string().nullable(),
  actor_id: uuid.nullable(),
  actor_handle: z.string().nullable(),
  resource_id: z.string().nullable(),
  ip_address: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()),
  created_at: time,
});

/** A time in a query: with a zone, or a day, which begins at midnight UTC. */
const queryTime = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], {
    error: "Give a day such as 2026-11-20, or a time with its zone such as 2026-11-20T09:30:00Z",
  })
  .transform((text) => Date.parse(text));

/** Filters of the audit list and its export. */
const auditFilter = {
  user_handle: line(64).optional(),
  event_type: eventPrefix.optional(),
  from: queryTime.optional(),
  to: queryTime.optional(),
};

const userParams = z.object({ id: uuid.brand<"AccountId">() });
const refusals = { 401: detail, 403: detail, 422: detail } as const;

export const listUsers = endpoint({
  name: "vault.admin.user.list",
  method: "GET",
  path: "/api/admin/users",
  summary: "Users of the vault, oldest first",
  gate: vaultAdministrator,
  query: z.object({
    q: line(254).optional(),
    role: role.optional(),
    is_active: queryFlag.optional(),
    ...paging,
  }),
  replies: { 200: pageOf(managedUser), ...refusals },
});

export const createUser = endpoint({
  name: "vault.admin.user.create",
  method: "POST",
  path: "/api/admin/users",
  summary: "Make an account; a link to choose its password is mailed",
  gate: vaultAdministratorInSession,
  body: z.object({ handle: handleName, email, role: role.default("user") }),
  replies: { 201: managedUser, ...refusals, 409: detail },
});

export const setUserStatus = endpoint({
  name: "vault.admin.user.set_status",
  method: "PATCH",
  path: "/api/admin/users/:id/status",
  summary: "Activate or deactivate an account",
  gate: vaultAdministrator,
  params: userParams,
  body: z.object({ is_active: z.boolean() }),
  replies: { 200: managedUser, ...refusals, 404: detail, 409: detail },
});

export const resetUserPassword = endpoint({
  name: "vault.admin.user.reset_password",
  method: "POST",
  path: "/api/admin/users/:id/password-reset",
  summary: "Demand another password: the user's sessions end and a link is mailed",
  gate: vaultAdministratorInSession,
  params: userParams,
  replies: { 202: message, ...refusals, 404: detail },
});

export const deleteUser = endpoint({
  name: "vault.admin.user.delete",
  method: "DELETE",
  path: "/api/admin/users/:id",
  summary: "Delete an account with its sessions, connections and cached bytes; audit records stay",
  gate: vaultAdministrator,
  params: userParams,
  replies: { 200: message, ...refusals, 404: detail, 409: detail },
});

export const viewUserQuota = endpoint({
  name: "vault.admin.quota.view",
  method: "GET",
  path: "/api/admin/users/:id/quota",
  summary: "A user's storage quota",
  gate: vaultAdministrator,
  params: userParams,
  replies: { 200: quota, ...refusals, 404: detail },
});

export const setUserQuota = endpoint({
  name: "vault.admin.quota.edit",
  method: "PUT",
  path: "/api/admin/users/:id/quota",
  summary: "Set the limit of a user's storage quota",
  gate: vaultAdministrator,
  params: userParams,
  body: z.object({ limit_bytes: z.int().min(0) }),
  replies: { 200: quota, ...refusals, 404: detail },
});

const serverPath = z
  .string()
  .min(1)
  .max(4096)
  .refine((value) => value.isWellFormed() && !/\p{Cc}/u.test(value), "This is not a path");

/** The folders of the server that an account may connect besides its own, as absolute paths. */
export const localFolders = z.object({ folders: z.array(z.string()) });

export const viewUserLocalFolders = endpoint({
  name: "vault.admin.user.list_local_folders",
  method: "GET",
  path: "/api/admin/users/:id/local-folders",
  summary: "The folders of the server that were granted to a user",
  gate: vaultAdministrator,
  params: userParams,
  replies: { 200: localFolders, ...refusals, 404: detail },
});

export const setUserLocalFolders = endpoint({
  name: "vault.admin.user.set_local_folders",
  method: "PUT",
  path: "/api/admin/users/:id/local-folders",
  summary:
    "Replace the folders that are granted to a user: each below a local root, absolute or below the first one",
  gate: vaultAdministrator,
  params: userParams,
  body: z.object({ folders: z.array(serverPath).max(100) }),
  replies: { 200: localFolders, ...refusals, 404: detail },
});

export const listAudit = endpoint({
  name: "vault.admin.audit.list",
  method: "GET",
  path: "/api/admin/audit",
  summary: "Audit records, newest first; from is included, to is not",
  gate: vaultAdministrator,
  query: z.object({ ...auditFilter, ...paging }),
  replies: { 200: pageOf(auditEntry), ...refusals },
});

export const exportAudit = endpoint({
  name: "vault.admin.audit.export",
  method: "GET",
  path: "/api/admin/audit/export",
  summary: "Audit records as CSV, oldest first; cells that a spreadsheet would execute are escaped",
  gate: vaultAdministrator,
  query: z.object({ ...auditFilter, format: oneOf(["csv"]).default("csv") }),
  replies: { 200: bytesOf("text/csv; charset=utf-8"), ...refusals },
});

/** The stored audit records of one day in UTC. */
export const dailyExport = z.object({ date: z.iso.date(), size_bytes: z.int().min(0) });

export const listDailyExports = endpoint({
  name: "vault.admin.audit.list_daily",
  method: "GET",
  path: "/api/admin/audit/daily-exports",
  summary: "The stored daily exports, newest first",
  gate: vaultAdministrator,
  query: z.object(paging),
  replies: { 200: pageOf(dailyExport), ...refusals },
});

export const downloadDailyExport = endpoint({
  name: "vault.admin.audit.download_daily",
  method: "GET",
  path: "/api/admin/audit/daily-exports/:date",
  summary: "The stored export of one day, as CSV",
  gate: vaultAdministrator,
  params: z.object({ date: z.iso.date({ error: "Give a day such as 2026-11-20" }) }),
  replies: { 200: bytesOf("text/csv; charset=utf-8"), ...refusals, 404: detail },
});

/** Number of documents in each state. */
const documentCounts = z.object({
  pending: z.int().min(0),
  processing: z.int().min(0),
  ready: z.int().min(0),
  classification_failed: z.int().min(0),
});

export const viewOverview = endpoint({
  name: "vault.admin.overview.view",
  method: "GET",
  path: "/api/admin/overview",
  summary: "Users, used storage, documents by state and the last ten audit records",
  gate: vaultAdministrator,
  replies: {
    200: z.object({
      user_count: z.int().min(0),
      total_storage_bytes: z.int().min(0),
      doc_status: documentCounts,
      recent_audit: z.array(auditEntry),
    }),
    401: detail,
    403: detail,
  },
});

/** The administration of accounts and the audit trail. */
export const vaultAdminEndpoints = {
  listUsers,
  createUser,
  setUserStatus,
  resetUserPassword,
  deleteUser,
  viewUserQuota,
  setUserQuota,
  viewUserLocalFolders,
  setUserLocalFolders,
  listAudit,
  exportAudit,
  listDailyExports,
  downloadDailyExport,
  viewOverview,
};
