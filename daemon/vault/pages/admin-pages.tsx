import type { z } from "zod";
import { eventPrefix, type managedUser, vaultAdminEndpoints } from "../../contract/vault/admin.ts";
import { AppError } from "../../errors.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import { Alert, EmptyState, Facts, Menu, Pager, Table, Time } from "../../pages/elements.tsx";
import { Form, SearchForm } from "../../pages/form.tsx";
import { toPageNumber } from "../../pages/page.ts";
import { ADMIN } from "./addresses.ts";
import { AdminTabs, AUDIT, USERS } from "./admin-tabs.tsx";
import { toConfirmation, toDetails, toSizeText } from "./elements.tsx";
import {
  open,
  type SignedInContext,
  submit,
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "./vault-page.ts";

const PER_PAGE = 50;
const FIND_PER_PAGE = 100;
const MEGABYTE = 1_000_000;

/** Overview, accounts and audit for administrators. */
export function adminPages(): VaultPageRoute[] {
  return [
    open(ADMIN, showOverview),
    open(USERS, (context) => showUsers(context)),
    submit(USERS, inviteUser),
    open(`${USERS}/:id`, (context, { id }) => showUser(context, id)),
    submit(`${USERS}/:id`, changeUser),
    open(AUDIT, showAudit),
    open(`${AUDIT}/export`, async ({ request, call }) => ({
      kind: "file",
      answer: (await call(vaultAdminEndpoints.exportAudit, {
        query: toAuditFilter(request.query),
      })) as unknown as BytesAnswer,
    })),
  ];
}

async function showOverview({ call }: SignedInContext): Promise<VaultPageAnswer> {
  const { body } = await call(vaultAdminEndpoints.viewOverview);
  const { doc_status: documents } = body;
  return {
    kind: "page",
    title: "Administration",
    body: (
      <>
        <h1>Administration</h1>
        <AdminTabs current="overview" />
        <Facts
          rows={[
            ["Accounts", String(body.user_count)],
            ["Used space", toSizeText(body.total_storage_bytes)],
            ["Documents ready", String(documents.ready)],
            ["Documents in analysis", String(documents.pending + documents.processing)],
            ["Analysis failed", String(documents.classification_failed)],
          ]}
        />
        <h2>Latest events</h2>
        <Events records={body.recent_audit} />
      </>
    ),
  };
}

type AuditEntry = z.output<
  (typeof vaultAdminEndpoints.viewOverview.replies)[200]
>["recent_audit"][number];

function Events({ records }: { records: readonly AuditEntry[] }) {
  if (records.length === 0) return <EmptyState>No events.</EmptyState>;
  return (
    <Table
      label="Events"
      columns={["Time", "Event", "Account", "By", "Address", "Details"]}
      rows={records.map((each) => ({
        key: String(each.id),
        cells: [
          <Time key="at" at={each.created_at} />,
          each.event_type,
          each.user_handle ?? "",
          each.actor_handle ?? "",
          each.ip_address ?? "",
          <bdi key="details" className="long">
            {toDetails(each.metadata)}
          </bdi>,
        ],
      }))}
    />
  );
}

async function showUsers(context: SignedInContext, failed?: string): Promise<VaultPageAnswer> {
  const { request, call, session, form } = context;
  const q = request.query.get("q") ?? "";
  const page = toPageNumber(request);
  const query = { page: String(page), per_page: String(PER_PAGE), ...(q === "" ? {} : { q }) };
  const { items, total } = (await call(vaultAdminEndpoints.listUsers, { query })).body;
  return {
    kind: "page",
    title: "Accounts",
    status: failed === undefined ? 200 : 422,
    body: (
      <>
        <h1>Accounts</h1>
        <AdminTabs current="users" />
        <Alert text={failed} />
        <SearchForm label="Search accounts" query={q} />
        {items.length === 0 ? <EmptyState>No accounts found.</EmptyState> : null}
        <ul className={items.length === 0 ? undefined : "list after"}>
          {items.map((each) => (
            <li key={each.id}>
              <a href={toUserPath(each)}>{each.handle}</a>{" "}
              <span className="quiet">{toUserNote(each)}</span>
            </li>
          ))}
        </ul>
        <Pager page={page} limit={PER_PAGE} total={total} query={request.query} />
        <h2>Invite a person</h2>
        <p>A link to choose a password is mailed to the address.</p>
        <Form action={USERS} token={session.formToken} className="stack">
          <label>
            Handle
            <input
              name="handle"
              required
              maxLength={32}
              defaultValue={form.get("handle") ?? ""}
              autoCapitalize="none"
            />
          </label>
          <label>
            E-mail address
            <input
              type="email"
              name="email"
              required
              maxLength={254}
              defaultValue={form.get("email") ?? ""}
            />
          </label>
          <label>
            Role
            <select name="role" defaultValue={form.get("role") ?? "user"}>
              <option value="user">user</option>
              <option value="admin">administrator, without documents</option>
            </select>
          </label>
          <div>
            <button className="primary">Invite</button>
          </div>
        </Form>
      </>
    ),
  };
}

type ManagedUser = z.output<typeof managedUser>;

/** The handle is in the address because the API finds accounts by it. */
const toUserPath = ({ id, handle }: ManagedUser) =>
  `${USERS}/${id}?handle=${encodeURIComponent(handle)}`;

function toUserNote(user: ManagedUser): string {
  return [
    user.email,
    ...(user.role === "admin" ? ["administrator"] : []),
    ...(user.is_active ? [] : ["deactivated"]),
    ...(user.password_must_change ? ["must choose a password"] : []),
    ...(user.totp_enabled ? ["second factor"] : []),
  ].join(", ");
}

async function inviteUser(context: SignedInContext): Promise<VaultPageAnswer> {
  const { form, call } = context;
  const body = Object.fromEntries(
    ["handle", "email", "role"].map((name) => [name, form.get(name)]),
  );
  const tried = await tryForm(() => call(vaultAdminEndpoints.createUser, { body }));
  return "refusal" in tried
    ? showUsers(context, toText(tried.refusal))
    : { kind: "redirect", to: toUserPath(tried.result.body) };
}

/** Finds an account among those whose names contain its handle: of a short handle, there may be many. */
async function findUser({ request, call }: SignedInContext, id: string): Promise<ManagedUser> {
  const q = request.query.get("handle") ?? "";
  for (let page = 1; ; page += 1) {
    const query = { q, page: String(page), per_page: String(FIND_PER_PAGE) };
    const { items } = (await call(vaultAdminEndpoints.listUsers, { query })).body;
    const found = items.find((each) => each.id === id);
    if (found !== undefined) return found;
    if (items.length < FIND_PER_PAGE) throw new AppError("not_found", "There is no such account.");
  }
}

async function showUser(
  context: SignedInContext,
  id: string,
  failed?: string,
): Promise<VaultPageAnswer> {
  const user = await findUser(context, id);
  const { call, session } = context;
  const { body: quota } = await call(vaultAdminEndpoints.viewUserQuota, { params: { id } });
  const form = { action: toUserPath(user), token: session.formToken };
  return {
    kind: "page",
    title: user.handle,
    status: failed === undefined ? 200 : 422,
    body: (
      <>
        <h1>{user.handle}</h1>
        <AdminTabs current="users" />
        <Alert text={failed} />
        <p>{toUserNote(user)}</p>
        <p>
          {toSizeText(quota.used_bytes)} of {toSizeText(quota.limit_bytes)} are used.
        </p>
        <Form {...form} className="row">
          <input
            name="megabytes"
            inputMode="decimal"
            pattern={MEGABYTES.source}
            required
            defaultValue={quota.limit_bytes / MEGABYTE}
            aria-label="Limit in megabytes"
          />
          <button name="action" value="quota">
            Set the limit in MB
          </button>
        </Form>
        <div className="actions">
          <Form {...form} className="inline">
            <button name="action" value={user.is_active ? "deactivate" : "activate"}>
              {user.is_active ? "Deactivate" : "Activate"}
            </button>
            <button name="action" value="reset">
              Demand another password
            </button>
            <button name="action" value="delete" className="danger">
              Delete
            </button>
          </Form>
        </div>
      </>
    ),
  };
}

async function changeUser(
  context: SignedInContext,
  { id }: { readonly id: string },
): Promise<VaultPageAnswer> {
  const { form, session } = context;
  const user = await findUser(context, id);
  const action = form.get("action") ?? "";
  if (action === "delete" && form.get("done") !== "yes")
    return toConfirmation({
      title: `Delete the account ${user.handle}?`,
      children: <p>Its documents, connections and sessions are deleted at once.</p>,
      action: toUserPath(user),
      token: session.formToken,
      fields: [
        ["action", "delete"],
        ["done", "yes"],
      ],
      submit: "Delete",
      back: toUserPath(user),
    });
  const tried = await tryForm(() => runUserAction(context, id, action));
  if ("refusal" in tried) return showUser(context, id, toText(tried.refusal));
  return { kind: "redirect", to: action === "delete" ? USERS : toUserPath(user) };
}

async function runUserAction(
  { form, call }: SignedInContext,
  id: string,
  action: string,
): Promise<unknown> {
  const params = { id };
  switch (action) {
    case "quota": {
      const megabytes = (form.get("megabytes") ?? "").trim();
      if (!MEGABYTES.test(megabytes))
        throw new AppError("unprocessable", "The limit is a number of megabytes, such as 500.");
      const body = { limit_bytes: Math.round(Number(megabytes) * MEGABYTE) };
      return call(vaultAdminEndpoints.setUserQuota, { params, body });
    }
    case "activate":
    case "deactivate": {
      const body = { is_active: action === "activate" };
      return call(vaultAdminEndpoints.setUserStatus, { params, body });
    }
    case "reset":
      return call(vaultAdminEndpoints.resetUserPassword, { params });
    case "delete":
      return call(vaultAdminEndpoints.deleteUser, { params });
    default:
      throw new AppError("invalid_argument", "The page has no such form.");
  }
}

/** A limit as it is typed; shown without a loss, so that a form that was only sent changes nothing. */
const MEGABYTES = /^[0-9]{1,12}(?:[.][0-9]{1,6})?$/;

/** Returns the filter in the query of a page; empty fields are left out. */
function toAuditFilter(query: URLSearchParams): Record<string, string> {
  const names = ["user_handle", "event_type", "from", "to"];
  const values = names.map((name) => [name, query.get(name) ?? ""] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== ""));
}

async function showAudit({ request, call }: SignedInContext): Promise<VaultPageAnswer> {
  const filter = toAuditFilter(request.query);
  const page = toPageNumber(request);
  const query = { ...filter, page: String(page), per_page: String(PER_PAGE) };
  const tried = await tryForm(
    () => call(vaultAdminEndpoints.listAudit, { query }),
    ["unprocessable"],
  );
  const { items, total } = "result" in tried ? tried.result.body : { items: [], total: 0 };
  return {
    kind: "page",
    title: "Audit",
    status: "refusal" in tried ? 422 : 200,
    body: (
      <>
        <h1>Audit</h1>
        <AdminTabs current="audit" />
        <Alert text={"refusal" in tried ? toText(tried.refusal) : undefined} />
        <Menu name="Filter" isOpen={Object.keys(filter).length > 0}>
          <form method="get" className="stack">
            <label>
              Handle
              <input name="user_handle" defaultValue={filter["user_handle"]} maxLength={64} />
            </label>
            <label>
              Events
              <select name="event_type" defaultValue={filter["event_type"] ?? ""}>
                <option value="">all</option>
                {eventPrefix.options.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            </label>
            <label>
              From
              <input type="date" name="from" defaultValue={filter["from"]} />
            </label>
            <label>
              Until, not included
              <input type="date" name="to" defaultValue={filter["to"]} />
            </label>
            <div>
              <button type="submit">Filter</button>
            </div>
          </form>
        </Menu>
        <p>
          <a href={`${AUDIT}/export?${new URLSearchParams(filter)}`}>Download as CSV</a>
        </p>
        <Events records={items} />
        <Pager page={page} limit={PER_PAGE} total={total} query={request.query} />
      </>
    ),
  };
}
