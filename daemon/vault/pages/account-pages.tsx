import type { z } from "zod";
import {
  accountEndpoints,
  type allPreferences,
  type quota as quotaShape,
  type session as sessionShape,
} from "../../contract/vault/auth.ts";
import { cloudConnectionEndpoints } from "../../contract/vault/cloud/connections.ts";
import { describeStrengthRules } from "../../contract/password-rules.ts";
import { type machineToken, tokenEndpoints } from "../../contract/vault/tokens.ts";
import { AppError } from "../../errors.ts";
import { Alert, EmptyState, Facts, Menu, Time } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { ACCOUNT, SIGN_IN } from "./addresses.ts";
import { toSizeText } from "./elements.tsx";
import { showBackupCodes, showSecret, showTotpSetup } from "./second-factor.tsx";
import {
  open,
  type SignedInContext,
  submit,
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "./vault-page.ts";

/** Sessions and tokens that the page lists. */
const LISTED_MAX = "100";

/** The account of the caller, and the targets of its forms. */
export function accountPages(): VaultPageRoute[] {
  return [open(ACCOUNT, (context) => showAccount(context)), submit(ACCOUNT, changeAccount)];
}

async function showAccount(context: SignedInContext, failed?: string): Promise<VaultPageAnswer> {
  const { call, session } = context;
  const { role } = session.caller;
  const token = session.formToken;
  const me = (await call(accountEndpoints.me)).body;
  const preferences = (await call(accountEndpoints.viewPreferences)).body;
  const query = { per_page: LISTED_MAX };
  const sessions = (await call(accountEndpoints.listSessions, { query })).body.items;
  const tokens = (await call(tokenEndpoints.listTokens, { query })).body.items;
  return {
    kind: "page",
    title: "Account",
    status: failed === undefined ? 200 : 422,
    body: (
      <>
        <h1>Account</h1>
        <Alert text={failed} />
        <Facts
          rows={[
            ["Handle", me.handle],
            ["E-mail address", me.email],
            ["Second factor", me.totp_enabled ? "on" : "off"],
          ]}
        />
        {role === "admin" ? null : <Quota quota={(await call(accountEndpoints.myQuota)).body} />}
        <Preferences
          preferences={preferences}
          token={token}
          storages={role === "admin" ? [] : await listStorages(context)}
        />
        <Password token={token} />
        <SecondFactor isOn={me.totp_enabled} token={token} />
        <p>
          <a href={`${ACCOUNT}/identities`}>Sign-in by a provider</a>
        </p>
        <Sessions sessions={sessions} token={token} />
        <Tokens tokens={tokens} token={token} />
      </>
    ),
  };
}

/** Returns the kinds of storage where new documents can be kept. */
async function listStorages({ call }: SignedInContext): Promise<readonly string[]> {
  const { body } = await call(cloudConnectionEndpoints.listConnections, {
    query: { per_page: LISTED_MAX },
  });
  return ["internal", ...new Set(body.items.map(({ provider }) => provider))];
}

function Quota({
  quota: { used_bytes: used, limit_bytes: limit },
}: {
  quota: z.output<typeof quotaShape>;
}) {
  return (
    <>
      <h2>Space</h2>
      <p>
        {toSizeText(used)} of {toSizeText(limit)} are used.
      </p>
      <meter
        min={0}
        max={Math.max(limit, 1)}
        value={Math.min(used, limit)}
        aria-label="Used space"
      />
    </>
  );
}

function Preferences({
  preferences,
  storages,
  token,
}: {
  preferences: z.output<typeof allPreferences>;
  storages: readonly string[];
  token: string;
}) {
  const { pdf_open_mode: pdfMode, default_storage_backend: storage } = preferences;
  return (
    <>
      <h2>Preferences</h2>
      <Form action={ACCOUNT} token={token} className="row">
        <select name="mode" defaultValue={pdfMode} aria-label="How a PDF opens">
          <option value="in_app">PDFs open in the page</option>
          <option value="new_tab">PDFs open in a tab of their own</option>
        </select>
        <button name="action" value="pdf">
          Save
        </button>
      </Form>
      {storages.length < 2 ? null : (
        <Form action={ACCOUNT} token={token} className="row">
          <select name="backend" defaultValue={storage} aria-label="Where new documents are kept">
            {storages.map((each) => (
              <option key={each} value={each}>
                {each === "internal"
                  ? "New documents are kept on this server"
                  : `New documents are kept in ${each}`}
              </option>
            ))}
          </select>
          <button name="action" value="storage">
            Save
          </button>
        </Form>
      )}
    </>
  );
}

function Password({ token }: { token: string }) {
  return (
    <>
      <h2>Password</h2>
      <Menu name="Change the password">
        <Form action={ACCOUNT} token={token} className="stack">
          {passwordFields.map(([name, label, autoComplete]) => (
            <label key={name}>
              {label}
              <input
                type="password"
                name={name}
                required
                maxLength={1024}
                autoComplete={autoComplete}
              />
            </label>
          ))}
          <p className="quiet">{describeStrengthRules()}. All other sessions end.</p>
          <div>
            <button name="action" value="password" className="primary">
              Change the password
            </button>
          </div>
        </Form>
      </Menu>
    </>
  );
}

const passwordFields = [
  ["current", "Current password", "current-password"],
  ["next", "New password", "new-password"],
  ["again", "New password again", "new-password"],
] as const;

function SecondFactor({ isOn, token }: { isOn: boolean; token: string }) {
  return (
    <>
      <h2>Second factor</h2>
      <p>
        {isOn
          ? "A sign-in needs a code of your app, or a recovery code."
          : "An app on your phone gives a code for each sign-in, so that your password alone is not enough."}
      </p>
      <Form action={ACCOUNT} token={token}>
        <button name="action" value={isOn ? "totp-off" : "totp-setup"}>
          {isOn ? "Turn it off" : "Set it up"}
        </button>
      </Form>
    </>
  );
}

function Sessions({
  sessions,
  token,
}: {
  sessions: readonly z.output<typeof sessionShape>[];
  token: string;
}) {
  return (
    <>
      <h2>Sessions</h2>
      <ul className="list">
        {sessions.map((each) => (
          <li key={each.id}>
            {each.current ? <strong>This one</strong> : each.user_agent || "Unknown client"}{" "}
            <span className="quiet">
              {each.ip_address}, last used <Time at={each.last_used_at} />
            </span>{" "}
            {each.current ? null : (
              <Form action={ACCOUNT} token={token} className="inline">
                <input type="hidden" name="session" value={each.id} />
                <button className="link" name="action" value="end-session">
                  End
                </button>
              </Form>
            )}
          </li>
        ))}
      </ul>
      <Form action={ACCOUNT} token={token} className="after">
        <button name="action" value="end-all">
          End all sessions, this one, too
        </button>
      </Form>
    </>
  );
}

function Tokens({
  tokens,
  token,
}: {
  tokens: readonly z.output<typeof machineToken>[];
  token: string;
}) {
  return (
    <>
      <h2>Tokens for scripts</h2>
      {tokens.length === 0 ? <EmptyState>No tokens.</EmptyState> : null}
      <ul className={tokens.length === 0 ? undefined : "list"}>
        {tokens.map((each) => (
          <li key={each.id}>
            <bdi>{each.name}</bdi>{" "}
            <span className="quiet">
              {each.scope === "read" ? "reads" : "reads and changes"}
              {each.expires_at === null ? "" : `, until ${each.expires_at.slice(0, 10)}`}
              {each.last_used_at === null
                ? ", never used"
                : `, used ${each.last_used_at.slice(0, 10)}`}
            </span>{" "}
            <Form action={ACCOUNT} token={token} className="inline">
              <input type="hidden" name="token" value={each.id} />
              <button className="link" name="action" value="revoke-token">
                Revoke
              </button>
            </Form>
          </li>
        ))}
      </ul>
      <Menu name="New token">
        <Form action={ACCOUNT} token={token} className="stack">
          <label>
            Name
            <input name="name" required maxLength={100} />
          </label>
          <label>
            It may
            <select name="scope">
              <option value="read">read</option>
              <option value="write">read and change</option>
            </select>
          </label>
          <label>
            Last day, if it ends
            <input type="date" name="expires" />
          </label>
          <div>
            <button name="action" value="new-token">
              Make the token
            </button>
          </div>
        </Form>
      </Menu>
    </>
  );
}

async function changeAccount(context: SignedInContext): Promise<VaultPageAnswer> {
  const tried = await tryForm(
    () => runAction(context, context.form.get("action") ?? ""),
    [
      "invalid_argument",
      "invalid_credentials",
      "unprocessable",
      "conflict",
      "not_found",
      "rate_limited",
      "unavailable",
    ],
  );
  if ("refusal" in tried) return showAccount(context, toText(tried.refusal));
  return tried.result ?? { kind: "redirect", to: ACCOUNT };
}

/** Runs the action of a form. Returns a page for a result that is shown once. */
async function runAction(
  context: SignedInContext,
  action: string,
): Promise<VaultPageAnswer | undefined> {
  const { form, call } = context;
  switch (action) {
    case "pdf": {
      const body = { pdf_open_mode: form.get("mode") };
      await call(accountEndpoints.editPreferences, { body });
      return undefined;
    }
    case "storage": {
      const body = { backend: form.get("backend") };
      await call(accountEndpoints.setDefaultStorage, { body });
      return undefined;
    }
    case "password":
      return changePassword(context);
    case "totp-setup":
      return showTotpSetup(context, (await call(accountEndpoints.setupTotp)).body);
    case "totp-on":
      return enableTotp(context);
    case "totp-off":
      await call(accountEndpoints.disableTotp);
      return undefined;
    case "end-session":
      await call(accountEndpoints.deleteSession, { params: { id: form.get("session") ?? "" } });
      return undefined;
    case "end-all":
      await call(accountEndpoints.logoutAll);
      return { kind: "redirect", to: SIGN_IN, session: null };
    case "new-token":
      return createToken(context);
    case "revoke-token":
      await call(tokenEndpoints.deleteToken, { params: { id: form.get("token") ?? "" } });
      return undefined;
    default:
      throw new AppError("invalid_argument", "The page has no such form.");
  }
}

async function changePassword({ form, call }: SignedInContext): Promise<undefined> {
  const [current, next, again] = ["current", "next", "again"].map((name) => form.get(name) ?? "");
  if (next !== again) throw new AppError("unprocessable", "The two new passwords differ.");
  const body = { current_password: current, new_password: next };
  await call(accountEndpoints.changePassword, { body });
}

async function enableTotp(context: SignedInContext): Promise<VaultPageAnswer> {
  const { form, call } = context;
  const code = (form.get("code") ?? "").replace(/\s/g, "");
  const tried = await tryForm(() => call(accountEndpoints.enableTotp, { body: { code } }));
  if ("result" in tried) return showBackupCodes(tried.result.body.backup_codes);
  const setup = {
    secret: form.get("secret") ?? "",
    provisioning_uri: form.get("uri") ?? "",
  };
  return showTotpSetup(context, setup, toText(tried.refusal));
}

async function createToken({ form, call }: SignedInContext): Promise<VaultPageAnswer> {
  const day = form.get("expires") ?? "";
  const body = {
    name: form.get("name") ?? "",
    scope: form.get("scope") ?? "",
    expires_at: day === "" ? null : `${day}T23:59:59Z`,
  };
  return showSecret((await call(tokenEndpoints.createToken, { body })).body.token);
}
