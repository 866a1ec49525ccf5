import { avatarEndpoints } from "../../../contract/forge/accounts/avatars.ts";
import { userEndpoints } from "../../../contract/forge/accounts/users.ts";
import { tokenEndpoints } from "../../../contract/forge/accounts/tokens.ts";
import { userEmailEndpoints } from "../../../contract/forge/accounts/emails.ts";
import { ownKeyEndpoints } from "../../../contract/forge/accounts/keys.ts";
import {
  emailNotificationWords,
  userSettingsEndpoints,
} from "../../../contract/forge/accounts/settings.ts";
import { scopeCategories } from "../../../contract/forge/token-scopes.ts";
import { State, Tabs, Time } from "../../../pages/elements.tsx";
import { CHANGE_PASSWORD, type ForgePageRoute } from "../forge-page.ts";
import type { OauthProvider } from "../../oauth/provider.service.ts";
import { grantsPage } from "./grants-page.tsx";
import { hookPages } from "./hook-pages.tsx";
import { KeyList } from "./key-list.tsx";
import { levelPages } from "./level-pages.tsx";
import { picturePage } from "./picture-pages.tsx";
import { secondFactorPage } from "./second-factor-page.tsx";
import {
  ActionForm,
  DeleteEntry,
  Entries,
  readChecks,
  readFlag,
  readFlags,
  readText,
  readTexts,
  type SettingsField,
} from "./settings-form.tsx";
import {
  type Request,
  settingsPage,
  type SettingsPlace,
  toWindow,
  type View,
} from "./settings-page.tsx";

export const OWN_SETTINGS = "/user/settings";

const sections = [
  ["", "Profile"],
  ["avatar", "Picture"],
  ["account", "Addresses"],
  ["security", "Second factor"],
  ["identities", "Sign-in by a provider"],
  ["sessions", "Sessions"],
  ["keys", "SSH keys"],
  ["applications", "Tokens"],
  ["applications/oauth2", "Applications"],
  ["hooks", "Webhooks"],
  ["actions/secrets", "Secrets"],
  ["actions/variables", "Variables"],
  ["actions/runners", "Runners"],
] as const;

/** The settings of the signed-in account. */
export const ofAccount: SettingsPlace<string> = {
  base: OWN_SETTINGS,
  open: async ({ session }) => session.caller.user.name,
  toName: (name) => name,
  Head: ({ opened, current }) => (
    <>
      <h1>{`Settings of ${opened}`}</h1>
      <Tabs
        label="Settings"
        tabs={[
          ...sections.map(([key, text]) => ({
            key,
            text,
            href: key === "" ? OWN_SETTINGS : `${OWN_SETTINGS}/${key}`,
          })),
          { key: "password", text: "Password", href: CHANGE_PASSWORD },
        ]}
        current={current}
      />
    </>
  ),
};

/** The pages of the settings of the signed-in account. */
export function ownSettingsPages(oauth: OauthProvider): ForgePageRoute[] {
  return [
    ...settingsPage(ofAccount, {
      at: "",
      title: "Profile",
      show: showProfile,
      actions: { update },
    }),
    ...settingsPage(ofAccount, {
      at: "account",
      title: "Addresses",
      show: showEmails,
      actions: { add: addEmail, delete: deleteEmail },
    }),
    ...settingsPage(ofAccount, {
      at: "keys",
      title: "SSH keys",
      show: showKeys,
      actions: { add: addKey, delete: deleteKey },
    }),
    ...settingsPage(ofAccount, {
      at: "applications",
      title: "Tokens",
      show: showTokens,
      actions: { create: createToken, delete: deleteToken },
    }),
    ...grantsPage(ofAccount, oauth),
    ...secondFactorPage(ofAccount),
    ...picturePage(ofAccount, {
      load: async ({ call }) => (await call(userEndpoints.getCurrentUser)).body.avatar_url,
      set: ({ call }, image) => call(avatarEndpoints.setOwnAvatar, { body: { image } }),
      remove: ({ call }) => call(avatarEndpoints.deleteOwnAvatar),
    }),
    ...hookPages(ofAccount, "own"),
    ...levelPages(ofAccount, "own"),
  ];
}

const texts = {
  full_name: { label: "Full name", isOptional: true, max: 100 },
  description: { label: "About you", type: "multiline", isOptional: true, max: 255 },
  website: { label: "Website", isOptional: true, max: 255 },
  location: { label: "Location", isOptional: true, max: 50 },
} as const satisfies Record<string, SettingsField>;

const flags = {
  hide_email: { label: "Hide your e-mail address", type: "check" },
  hide_activity: { label: "Hide your activity", type: "check" },
} as const satisfies Record<string, SettingsField>;

async function showProfile(view: View) {
  const { body } = await view.call(userSettingsEndpoints.getUserSettings);
  const [all, others, none] = emailNotificationWords;
  return (
    <ActionForm
      view={view}
      action="update"
      submit="Save profile"
      tone="primary"
      fields={{
        ...texts,
        ...flags,
        email_notifications: {
          label: "Mails about what you follow",
          type: "select",
          options: [
            [all, "Send them"],
            [others, "Send them, also about your own changes"],
            [none, "Send none"],
          ],
        },
        theme: {
          label: "Appearance",
          type: "select",
          options: [
            ["", "As the browser says"],
            ["light", "Light"],
            ["dark", "Dark"],
          ],
        },
      }}
      values={body}
    />
  );
}

async function update(request: Request): Promise<void> {
  await request.call(userSettingsEndpoints.editUserSettings, {
    body: {
      ...readTexts(request, Object.keys(texts)),
      ...readFlags(request, Object.keys(flags)),
      email_notifications: readText(request, "email_notifications"),
      theme: readText(request, "theme"),
    },
  });
}

async function showEmails(view: View) {
  const { body: emails } = await view.call(userEmailEndpoints.listOwnEmails);
  return (
    <>
      <Entries
        view={view}
        label="Addresses"
        empty="No addresses."
        entries={emails.map(({ email, primary, verified }) => ({
          key: email,
          name: <bdi>{email}</bdi>,
          note: (
            <>
              {primary ? <State word="primary" /> : null}{" "}
              {verified ? null : <State word="not verified" />}
            </>
          ),
          tools: primary ? undefined : (
            <DeleteEntry view={view} hidden={{ email }} submit={`Delete ${email}`} />
          ),
        }))}
      />
      <h3>Add an address</h3>
      <ActionForm
        view={view}
        action="add"
        submit="Add address"
        fields={{ email: { label: "E-mail address", type: "email", max: 254 } }}
      />
    </>
  );
}

async function addEmail(request: Request): Promise<void> {
  const body = { emails: [readText(request, "email")] };
  await request.call(userEmailEndpoints.addOwnEmails, { body });
}

async function deleteEmail(request: Request): Promise<void> {
  const body = { emails: [readText(request, "email")] };
  await request.call(userEmailEndpoints.deleteOwnEmails, { body });
}

async function showKeys(view: View) {
  const { body: keys, total } = await view.call(ownKeyEndpoints.listOwnKeys, {
    query: toWindow(view),
  });
  return (
    <KeyList
      view={view}
      keys={keys}
      total={total}
      label="SSH keys"
      empty="No SSH keys. On a terminal:"
      command="croft ssh-key add ~/.ssh/id_ed25519.pub"
      name="an SSH key"
      access={{ read_only: { label: "Only for reading", type: "check" } }}
    />
  );
}

async function addKey(request: Request): Promise<void> {
  await request.call(ownKeyEndpoints.addOwnKey, {
    body: {
      title: readText(request, "title"),
      key: readText(request, "key"),
      read_only: readFlag(request, "read_only"),
    },
  });
}

async function deleteKey(request: Request): Promise<void> {
  await request.call(ownKeyEndpoints.deleteOwnKey, { params: { id: readText(request, "id") } });
}

const ofSelf = ({ session }: Request) => ({ username: session.caller.user.name });

async function showTokens(view: View) {
  const { body: tokens, total } = await view.call(tokenEndpoints.listTokens, {
    params: ofSelf(view),
    query: toWindow(view),
  });
  const scopeFields = Object.fromEntries(
    scopeCategories.map((category) => [
      `scope_${category}`,
      {
        label: category,
        type: "select",
        options: [
          ["", "no access"],
          [`read:${category}`, "read"],
          [`write:${category}`, "read and write"],
        ],
      } satisfies SettingsField,
    ]),
  );
  return (
    <>
      <Entries
        view={view}
        label="Tokens"
        empty="No tokens."
        total={total}
        entries={tokens.map((token) => ({
          key: token.id,
          name: <bdi>{token.name}</bdi>,
          note: (
            <>
              <code>{`…${token.token_last_eight}`}</code> · {token.scopes.join(", ")} · created{" "}
              <Time at={token.created_at} />
            </>
          ),
          tools: (
            <DeleteEntry
              view={view}
              hidden={{ id: String(token.id) }}
              submit={`Delete ${token.name}`}
            />
          ),
        }))}
      />
      <h3>Create a token</h3>
      <ActionForm
        view={view}
        action="create"
        submit="Create token"
        fields={{
          name: { label: "Name", max: 255 },
          ...scopeFields,
          more: {
            label: "Or",
            type: "checks",
            options: [
              ["all", "everything that you may do"],
              ["public-only", "only public repositories and organizations"],
            ],
          },
        }}
      />
    </>
  );
}

async function createToken(request: Request) {
  const scopes = [
    ...scopeCategories.map((category) => readText(request, `scope_${category}`)),
    ...readChecks(request, "more"),
  ].filter((scope) => scope !== "");
  const { body } = await request.call(tokenEndpoints.createToken, {
    params: ofSelf(request),
    body: { name: readText(request, "name"), scopes },
  });
  return { secret: { title: `Token ${body.name}`, value: body.sha1 } };
}

async function deleteToken(request: Request): Promise<void> {
  const params = { ...ofSelf(request), token: readText(request, "id") };
  await request.call(tokenEndpoints.deleteToken, { params });
}
