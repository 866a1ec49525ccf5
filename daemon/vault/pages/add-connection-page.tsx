import type { z } from "zod";
import { cloudConnectionEndpoints } from "../../contract/vault/cloud/connections.ts";
import type { provider as providerShape } from "../../contract/vault/cloud/shapes.ts";
import { AppError } from "../../errors.ts";
import { Alert, EmptyState } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { CONNECTIONS, toFolderPath } from "./addresses.ts";
import { Name } from "./elements.tsx";
import {
  open,
  type SignedInContext,
  submit,
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "./vault-page.ts";

type Provider = z.output<typeof providerShape>;
type Setting = Provider["settings"][number];

export const ADD_CONNECTION = `${CONNECTIONS}/add`;

/** The kinds of storage, the form of each, and its target. What a form says is sent in its body, never in an address. */
export function addConnectionPages(): VaultPageRoute[] {
  return [
    open(ADD_CONNECTION, async (context) => {
      const type = context.request.query.get("kind");
      const providers = await listProviders(context);
      return type === null ? showKinds(providers) : showForm(context, findKind(providers, type));
    }),
    submit(ADD_CONNECTION, async (context) => {
      const provider = findKind(await listProviders(context), context.form.get("kind") ?? "");
      return provider.sign_in === "oauth" ? signIn(context, provider) : connect(context, provider);
    }),
  ];
}

async function listProviders({ call }: SignedInContext): Promise<readonly Provider[]> {
  return (await call(cloudConnectionEndpoints.listProviders)).body.items;
}

function findKind(providers: readonly Provider[], type: string): Provider {
  const found = providers.find((each) => each.type === type);
  if (found === undefined) throw new AppError("not_found", "There is no such kind of storage.");
  return found;
}

function showKinds(providers: readonly Provider[]): VaultPageAnswer {
  return {
    kind: "page",
    title: "Connect a storage",
    body: (
      <>
        <Crumbs />
        <h1>Connect a storage</h1>
        {providers.length === 0 ? (
          <EmptyState>This server has no adapters for storages.</EmptyState>
        ) : (
          <ul className="list" data-rows>
            {providers.map(
              ({ type, title, available, missing_settings: missing, sign_in: how }) => (
                <li key={type} data-row>
                  {available ? (
                    <a href={`${ADD_CONNECTION}?kind=${encodeURIComponent(type)}`} data-open>
                      {title}
                    </a>
                  ) : (
                    <span>{title}</span>
                  )}{" "}
                  <span className="quiet">
                    {available
                      ? how === "oauth"
                        ? "You sign in at its own page."
                        : "You give its address or folder, and what it asks for."
                      : `Not set up on this server. The administrator has to set ${missing.join(" and ")}.`}
                  </span>
                </li>
              ),
            )}
          </ul>
        )}
      </>
    ),
  };
}

function Crumbs({ isForm = false }: { isForm?: boolean }) {
  return (
    <p className="crumbs">
      <a href={CONNECTIONS}>Storage</a>
      {isForm ? (
        <>
          {" / "}
          <a href={ADD_CONNECTION}>Connect a storage</a>
        </>
      ) : null}
    </p>
  );
}

interface Failed {
  readonly text: string;
  /** What was sent; secrets are not shown again. */
  readonly sent: URLSearchParams;
}

function showForm(
  { session }: SignedInContext,
  provider: Provider,
  failed?: Failed,
): VaultPageAnswer {
  const { type, title, settings, sign_in: how } = provider;
  return {
    kind: "page",
    title: `Connect: ${title}`,
    status: failed === undefined ? 200 : 422,
    body: (
      <>
        <Crumbs isForm />
        <h1>{title}</h1>
        <Alert text={failed?.text} />
        <Form action={ADD_CONNECTION} token={session.formToken} className="stack">
          <input type="hidden" name="kind" value={type} />
          <label>
            Name of the connection
            <input
              name="display_name"
              maxLength={100}
              required
              defaultValue={failed?.sent.get("display_name") ?? title}
            />
          </label>
          {how === "oauth"
            ? null
            : settings.map((each) => (
                <SettingInput
                  key={each.name}
                  setting={each}
                  value={failed?.sent.get(toField(each)) ?? each.default ?? ""}
                />
              ))}
          <div>
            <button className="primary">{how === "oauth" ? "Sign in there" : "Connect"}</button>
          </div>
        </Form>
      </>
    ),
  };
}

const toField = ({ name }: Setting): string => `setting.${name}`;

/** `access_key_id` as `Access key id`. */
function toLabel({ name, required }: Setting): string {
  const words = name.replaceAll("_", " ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${required ? "" : " (optional)"}`;
}

function SettingInput({ setting, value }: { setting: Setting; value: string }) {
  const { type, required, secret, help } = setting;
  const name = toField(setting);
  const choices = type === "switch" ? ["true", "false"] : setting.choices;
  const helpId = `help-${setting.name}`;
  const common = { name, required, "aria-describedby": helpId } as const;
  return (
    <div>
      <label>
        {toLabel(setting)}
        {choices !== null ? (
          <select {...common} defaultValue={value}>
            {required || value !== "" ? null : <option value="">not set</option>}
            {choices.map((each) => (
              <option key={each} value={each}>
                {SWITCH[each] ?? each}
              </option>
            ))}
          </select>
        ) : secret ? (
          <input {...common} type="password" autoComplete="new-password" />
        ) : (
          <input
            {...common}
            defaultValue={value}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
        )}
      </label>
      <p className="quiet after" id={helpId}>
        {help}.
      </p>
    </div>
  );
}

const SWITCH: Readonly<Record<string, string>> = { true: "yes", false: "no" };

async function connect(context: SignedInContext, provider: Provider): Promise<VaultPageAnswer> {
  const { call, form } = context;
  const half = (isSecret: boolean): Record<string, string> =>
    Object.fromEntries(
      provider.settings
        .filter(({ secret }) => secret === isSecret)
        .map((each) => [each.name, form.get(toField(each)) ?? ""])
        .filter(([, value]) => value !== ""),
    );
  const tried = await tryForm(() =>
    call(cloudConnectionEndpoints.createConnection, {
      body: {
        provider: provider.type,
        display_name: form.get("display_name") ?? "",
        settings: half(false),
        credentials: half(true),
      },
    }),
  );
  if ("refusal" in tried)
    return showForm(context, provider, { text: toText(tried.refusal), sent: form });
  const { status, body } = tried.result;
  if (status === 201) return { kind: "redirect", to: toFolderPath(body.id) };
  const text = "detail" in body && typeof body.detail === "string" ? body.detail : NOT_CONNECTED;
  return showForm(context, provider, { text, sent: form });
}

const NOT_CONNECTED = "The storage could not be connected.";

/** A form must not lead to another server: the browser follows a link instead. */
async function signIn(context: SignedInContext, provider: Provider): Promise<VaultPageAnswer> {
  const { call, form } = context;
  const name = form.get("display_name") ?? "";
  const tried = await tryForm(
    () =>
      call(cloudConnectionEndpoints.authorize, {
        params: { provider: provider.type },
        query: name === "" ? {} : { display_name: name },
      }),
    ["invalid_argument", "conflict", "forbidden", "unprocessable", "rate_limited"],
  );
  if ("refusal" in tried)
    return showForm(context, provider, { text: toText(tried.refusal), sent: form });
  return {
    kind: "page",
    title: `Sign in: ${provider.title}`,
    body: (
      <>
        <Crumbs isForm />
        <h1>Sign in at {provider.title}</h1>
        <p>
          The next page is {provider.title}'s own. It asks whether croft may use your storage, and
          leads back here. The connection is called <Name>{name}</Name>.
        </p>
        <p>
          <a className="button primary" href={tried.result.body.authorization_url} data-keep>
            Continue to {provider.title}
          </a>
        </p>
        <p className="quiet">This link works once, for ten minutes.</p>
      </>
    ),
  };
}
