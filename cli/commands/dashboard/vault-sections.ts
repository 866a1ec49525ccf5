import type { z } from "zod";
import type { auditEntry, managedUser } from "../../../daemon/contract/vault/admin.ts";
import type { connection } from "../../../daemon/contract/vault/cloud/shapes.ts";
import type { job } from "../../../daemon/contract/vault/jobs.ts";
import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { toAgo, toSizeText } from "../../output/cells.ts";
import type { DashboardRow, DashboardSection, RowAction } from "../../ui/dashboard/section.ts";
import { countOf, readRows, toContent } from "./section-rows.ts";

type ManagedUser = z.output<typeof managedUser>;
type Connection = z.output<typeof connection>;
type Job = z.output<typeof job>;
type AuditEntry = z.output<typeof auditEntry>;

/** The sections of the vault, in the order of the screen. All but the connections are for the vault's administrators. */
export function listVaultSections(cli: CliContext): readonly DashboardSection[] {
  return [users(cli), storage(cli), jobs(cli), audit(cli)];
}

function users({ client, clock }: CliContext): DashboardSection {
  const edit = (user: ManagedUser, isActive: boolean) => async () => {
    const params = { id: user.id };
    await client.call(vault.setUserStatus, { params, body: { is_active: isActive } });
    return `${isActive ? "Activated" : "Deactivated"} ${user.handle}.`;
  };
  const toRow = (user: ManagedUser): DashboardRow => {
    const state = user.is_active
      ? user.password_must_change
        ? "password must change"
        : "active"
      : "inactive";
    const created = toAgo(user.created_at ?? 0, clock());
    const action: RowAction = user.is_active
      ? {
          key: "d",
          label: "deactivate",
          question: `Deactivate ${user.handle}? Their sessions end.`,
          run: edit(user, false),
        }
      : { key: "a", label: "activate", run: edit(user, true) };
    return {
      id: user.id,
      tone: state === "active" ? "good" : "warning",
      cells: [user.handle, user.role, state, user.totp_enabled ? "yes" : "no"],
      details: [
        ["handle", user.handle],
        ["e-mail", user.email],
        ["role", user.role],
        ["state", state],
        ["second factor", user.totp_enabled ? "yes" : "no"],
        ["created", created],
        ["id", user.id],
      ],
      actions: [action],
    };
  };
  return {
    title: "Users",
    columns: ["vault user", "role", "state", "second factor"],
    empty: "The vault has no users.",
    async load({ filter, count }) {
      const query = filter === "" ? {} : { q: filter };
      const { items, total } = await readRows(
        vaultPages(client, vault.listUsers, { query }),
        count,
      );
      return {
        rows: items.map(toRow),
        total,
        summary: `${total} vault ${total === 1 ? "user" : "users"}`,
        tone: "good",
      };
    },
  };
}

function storage({ client, clock }: CliContext): DashboardSection {
  const toRow = (one: Connection): DashboardRow => {
    const { used_bytes: used = null, total_bytes: total = null } = one.quota ?? {};
    const share = used === null || total === null || total === 0 ? null : used / total;
    const state = one.status.replaceAll("_", " ");
    const isFull = share !== null && share > ALMOST_FULL;
    return {
      id: one.id,
      tone: one.status === "connected" ? (isFull ? "warning" : "good") : "bad",
      cells: [
        one.display_name,
        state,
        share === null ? "" : `${drawBar(share)} ${Math.round(share * 100)} %`,
        used === null ? "" : toSizeText(used),
      ],
      details: [
        ["connection", one.display_name],
        ["provider", one.provider],
        ["state", state],
        ["used", used === null ? "unknown" : toSizeText(used)],
        ["total", total === null ? "unknown" : toSizeText(total)],
        ["checked", one.last_checked_at === null ? "never" : toAgo(one.last_checked_at, clock())],
      ],
      actions: [
        {
          key: "c",
          label: "check",
          async run() {
            const params = { connection_id: one.id };
            await client.call(vault.testConnection, { params });
            return `Checked ${one.display_name}.`;
          },
        },
      ],
    };
  };
  return {
    title: "Storage",
    columns: ["storage", "state", "used of total", "used"],
    empty: 'You have connected no storage: "croft vault connection add" does.',
    async load(request) {
      const [connections, overview] = await Promise.all([
        unlessForbidden(readRows(vaultPages(client, vault.listConnections, {}), countOf(request))),
        unlessForbidden(client.call(vault.viewOverview, {})),
      ]);
      const documents = overview === undefined ? [] : toDocumentRows(overview.body);
      const rows = [...(connections?.items ?? []).map(toRow), ...documents];
      const summary = [
        ...(connections === undefined
          ? []
          : [`${connections.total} ${connections.total === 1 ? "connection" : "connections"}`]),
        ...(overview === undefined
          ? []
          : [`${toSizeText(overview.body.total_storage_bytes)} in documents`]),
      ].join(", ");
      const tones = rows.map(({ tone }) => tone);
      const unread = connections === undefined ? 0 : connections.total - connections.items.length;
      return {
        ...toContent(rows, rows.length + unread, request),
        summary,
        tone: tones.includes("bad") ? "bad" : tones.includes("warning") ? "warning" : "good",
      };
    },
  };
}

/** Administrators have no connections, and only they see all documents, so one of the two requests is forbidden. */
async function unlessForbidden<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CliError && error.code === "forbidden") return undefined;
    throw error;
  }
}

function toDocumentRows({
  doc_status: counts,
}: {
  readonly doc_status: Readonly<Record<string, number>>;
}): readonly DashboardRow[] {
  return Object.entries(counts).map(([state, count]) => {
    const name = `documents, ${state.replaceAll("_", " ")}`;
    return {
      id: `documents ${state}`,
      tone: state === "classification_failed" && count > 0 ? "warning" : "idle",
      cells: [name, String(count), "", ""],
      details: [[name, String(count)]],
      actions: [],
    };
  });
}

/** From this share on, a storage is shown as nearly full. */
const ALMOST_FULL = 0.9;
const BAR_CELLS = 10;

/** A bar of ten cells. */
function drawBar(share: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * BAR_CELLS);
  return "█".repeat(full) + "░".repeat(BAR_CELLS - full);
}

function jobs({ client, clock }: CliContext): DashboardSection {
  const toRow = (one: Job): DashboardRow => {
    const params = { job_id: String(one.id) };
    const retry: RowAction = {
      key: "r",
      label: "retry",
      async run() {
        await client.call(vault.retryJob, { params });
        return `Job ${one.id} runs again.`;
      },
    };
    const cancel: RowAction = {
      key: "c",
      label: "cancel",
      question: `Cancel job ${one.id}, ${one.description}?`,
      async run() {
        await client.call(vault.cancelJob, { params });
        return `Cancelled job ${one.id}.`;
      },
    };
    return {
      id: String(one.id),
      tone: one.state === "dead" ? "bad" : one.state === "running" ? "warning" : "idle",
      cells: [
        one.description,
        one.state === "dead" ? "failed" : one.state,
        String(one.attempts),
        toAgo(one.run_at, clock()),
      ],
      details: [
        ["job", `${one.id}, ${one.kind}`],
        ["what", one.description],
        ["state", one.state === "dead" ? "failed permanently" : one.state],
        ["attempts", String(one.attempts)],
        ["last error", one.last_error ?? "none"],
        ["runs", toAgo(one.run_at, clock())],
        ["created", toAgo(one.created_at, clock())],
      ],
      // The daemon does not cancel a scheduled task: it runs by its schedule.
      actions:
        one.state === "running"
          ? []
          : one.kind.startsWith("schedule.")
            ? [{ ...retry, label: "run now" }]
            : [retry, cancel],
    };
  };
  return {
    title: "Jobs",
    columns: ["job", "state", "attempts", "runs"],
    empty: "No background job waits or failed.",
    async load(request) {
      const [all, dead] = await Promise.all([
        readRows(vaultPages(client, vault.listJobs, {}), countOf(request)),
        client.call(vault.listJobs, { query: { state: "dead", per_page: 1 } }),
      ]);
      const failed = dead.body.total;
      return {
        ...toContent(all.items.map(toRow), all.total, request),
        summary: `${all.total} ${all.total === 1 ? "job" : "jobs"}, ${all.total - failed} waiting or running, ${failed} failed permanently`,
        tone: failed > 0 ? "bad" : "good",
      };
    },
  };
}

function audit({ client, clock }: CliContext): DashboardSection {
  const toRow = (entry: AuditEntry): DashboardRow => {
    const when = toAgo(entry.created_at, clock());
    const about = entry.user_handle ?? entry.user_id ?? "";
    const actor = entry.actor_handle ?? entry.actor_id ?? "";
    const isFailure = /fail|refus|denied|locked/.test(entry.event_type);
    return {
      id: String(entry.id),
      tone: isFailure ? "warning" : "idle",
      cells: [entry.event_type, about, entry.ip_address ?? "", when],
      details: [
        ["event", entry.event_type],
        ["user", about],
        ["by", actor],
        ["address", entry.ip_address ?? ""],
        ["time", entry.created_at],
        ...Object.entries(entry.metadata).map(
          ([name, value]) =>
            [name, typeof value === "string" ? value : JSON.stringify(value)] as const,
        ),
      ],
      actions: [],
    };
  };
  return {
    title: "Audit",
    columns: ["event", "user", "address", "when"],
    empty: "The audit log is empty.",
    async load(request) {
      const pages = vaultPages(client, vault.listAudit, {});
      const { items, total } = await readRows(pages, countOf(request));
      const [last] = items;
      return {
        ...toContent(items.map(toRow), total, request),
        summary: `${total} ${total === 1 ? "record" : "records"}${last === undefined ? "" : `, the last ${last.event_type}`}`,
        tone: "good",
      };
    },
  };
}
