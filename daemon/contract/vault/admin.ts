import { z } from "zod";
import { resource } from "./resource.ts";
import {
  bytesOf,
  perAccount,
  vaultAdministrator,
  vaultAdministratorInSession,
} from "../endpoint.ts";
import { invitationCode, invitationFields } from "../invitations.ts";
import { quota, role, user } from "./auth.ts";
import {
  email,
  handleName,
  line,
  message,
  newEmail,
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

const serverPath = z
  .string()
  .min(1)
  .max(4096)
  .refine((value) => value.isWellFormed() && !/\p{Cc}/u.test(value), "This is not a path");

/** The folders of the server that an account may connect besides its own, as absolute paths. */
export const localFolders = z.object({ folders: z.array(z.string()) });

/** The stored audit records of one day in UTC. */
export const dailyExport = z.object({ date: z.iso.date(), size_bytes: z.int().min(0) });

const chainHash = z.string().regex(/^[0-9a-f]{64}$/);
const givenHash = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, "This is not a SHA-256 of 64 digits")
  .toLowerCase();

/** The end of the audit chain when a day ended, in UTC. */
export const auditHead = z.object({
  date: z.iso.date(),
  position: z.int().min(0),
  hash: chainHash,
  created_at: time,
});

/** The result of a verification of the audit chain. */
export const auditVerification = z.object({
  /** Whether every record fits, and the given head is among them or was removed by retention. */
  is_intact: z.boolean(),
  verified: z.int().min(0),
  unchained: z.int().min(0),
  removed: z.int().min(0),
  position: z.int().min(0),
  hash: z.string(),
  head: z.enum(["found", "removed", "missing"]).nullable(),
  fault: z
    .object({
      position: z.int().min(0),
      record_id: z.int().nullable(),
      reason: z.enum(["changed", "missing", "added", "end_differs", "no_chain"]),
    })
    .nullable(),
});

/** Number of documents in each state. */
const documentCounts = z.object({
  pending: z.int().min(0),
  processing: z.int().min(0),
  ready: z.int().min(0),
  classification_failed: z.int().min(0),
});

/** The administration of accounts and the audit trail. */
export const vaultAdminEndpoints = {
  ...resource(
    {
      name: "vault.admin.user",
      path: "/api/admin/users",
      id: { id: uuid.brand<"AccountId">() },
      shape: managedUser,
      gate: { read: vaultAdministrator, change: vaultAdministratorInSession },
    },
    ({ list, create, edit, operation }) => ({
      listUsers: list("Users of the vault, oldest first", {
        filters: {
          q: line(254).optional(),
          role: role.optional(),
          is_active: queryFlag.optional(),
        },
      }),
      createUser: create(
        "Make an account; a link to choose its password is mailed",
        z.object({ handle: handleName, email, role: role.default("user") }),
        { refuses: [409] },
      ),
      editUser: edit(
        "Change handle, address or role of an account; members that are absent stay as they are",
        z.object({
          handle: handleName.optional(),
          email: newEmail.optional(),
          role: role.optional(),
        }),
        { refuses: [409] },
      ),
      setUserStatus: operation({
        as: "set_status",
        method: "PATCH",
        item: true,
        at: "status",
        summary: "Activate or deactivate an account",
        body: z.object({ is_active: z.boolean() }),
        replies: { 200: managedUser },
        gate: vaultAdministrator,
        refuses: [409],
      }),
      resetUserPassword: operation({
        as: "reset_password",
        method: "POST",
        item: true,
        at: "password-reset",
        summary: "Demand another password: the user's sessions end and a link is mailed",
        replies: { 202: message },
      }),
      deleteUser: operation({
        as: "delete",
        method: "DELETE",
        item: true,
        summary:
          "Delete an account with its sessions, connections and cached bytes; audit records stay",
        replies: { 200: message },
        gate: vaultAdministrator,
        refuses: [409],
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.admin.invitations",
      path: "/api/admin/invitations",
      shape: z.object({ id: uuid, handle: z.string(), email: z.string(), ...invitationFields }),
      gate: vaultAdministratorInSession,
    },
    ({ create }) => ({
      invitePerson: create(
        "Make an account without a password and a link to choose one; an account that has none yet gets another link",
        z.object({
          handle: handleName,
          email: newEmail,
          role: role.default("user"),
          /** Mails the link if a mail server is set up. */
          notify: z.boolean().default(false),
          /** The code of the forge's invitation, for one link. */
          forge_code: invitationCode.optional(),
        }),
        { refuses: [409] },
      ),
    }),
  ),
  ...resource(
    {
      name: "vault.admin.quota",
      path: "/api/admin/users/:id/quota",
      params: userParams,
      shape: quota,
      gate: vaultAdministrator,
    },
    ({ get, operation }) => ({
      viewUserQuota: get("A user's storage quota", { as: "view" }),
      setUserQuota: operation({
        as: "edit",
        method: "PUT",
        summary: "Set the limit of a user's storage quota",
        body: z.object({ limit_bytes: z.int().min(0) }),
        replies: { 200: quota },
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.admin.user",
      path: "/api/admin/users/:id/local-folders",
      params: userParams,
      gate: vaultAdministrator,
    },
    ({ operation }) => ({
      viewUserLocalFolders: operation({
        as: "list_local_folders",
        method: "GET",
        summary: "The folders of the server that were granted to a user",
        replies: { 200: localFolders },
      }),
      setUserLocalFolders: operation({
        as: "set_local_folders",
        method: "PUT",
        summary:
          "Replace the folders that are granted to a user: each below a local root, absolute or below the first one",
        body: z.object({ folders: z.array(serverPath).max(100) }),
        replies: { 200: localFolders },
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.admin.audit",
      path: "/api/admin/audit",
      shape: auditEntry,
      gate: vaultAdministrator,
    },
    ({ list, operation }) => ({
      listAudit: list("Audit records, newest first; from is included, to is not", {
        filters: { ...auditFilter },
      }),
      exportAudit: operation({
        method: "GET",
        at: "export",
        summary:
          "Audit records as CSV, oldest first; cells that a spreadsheet would execute are escaped",
        query: z.object({ ...auditFilter, format: oneOf(["csv"]).default("csv") }),
        replies: { 200: bytesOf("text/csv; charset=utf-8") },
      }),
      verifyAudit: operation({
        as: "verify",
        method: "GET",
        at: "verify",
        summary:
          "Recompute the chain of hashes of the audit records, and tell the first record that does not fit",
        query: z.object({ head: givenHash.optional() }),
        replies: { 200: auditVerification },
        limit: perAccount(10, 60),
      }),
      listAuditHeads: operation({
        as: "list_heads",
        method: "GET",
        at: "heads",
        summary: "The daily heads of the audit chain, newest first",
        query: z.object(paging),
        replies: { 200: pageOf(auditHead) },
      }),
      listDailyExports: operation({
        as: "list_daily",
        method: "GET",
        at: "daily-exports",
        summary: "The stored daily exports, newest first",
        query: z.object(paging),
        replies: { 200: pageOf(dailyExport) },
      }),
      downloadDailyExport: operation({
        as: "download_daily",
        method: "GET",
        at: "daily-exports/:date",
        summary: "The stored export of one day, as CSV",
        params: z.object({ date: z.iso.date({ error: "Give a day such as 2026-11-20" }) }),
        replies: { 200: bytesOf("text/csv; charset=utf-8") },
      }),
    }),
  ),
  ...resource(
    {
      name: "vault.admin.overview",
      path: "/api/admin/overview",
      shape: z.object({
        user_count: z.int().min(0),
        total_storage_bytes: z.int().min(0),
        doc_status: documentCounts,
        recent_audit: z.array(auditEntry),
      }),
      gate: vaultAdministrator,
    },
    ({ get }) => ({
      viewOverview: get("Users, used storage, documents by state and the last ten audit records", {
        as: "view",
      }),
    }),
  ),
};
