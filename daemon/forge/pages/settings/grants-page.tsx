import {
  oauthApplicationEndpoints,
  type WireOauthApplication,
} from "../../../contract/forge/accounts/oauth.ts";
import { Time } from "../../../pages/elements.tsx";
import type { OauthProvider } from "../../oauth/provider.service.ts";
import type { ForgePageRoute } from "../forge-page.ts";
import {
  ActionForm,
  DeleteEntry,
  Entries,
  readFlag,
  readText,
  type SettingsField,
} from "./settings-form.tsx";
import {
  type Request,
  settingsPage,
  type SettingsPlace,
  toWindow,
  type View,
} from "./settings-page.tsx";

/** The applications that the account lets sign in, and those that it has registered. */
export function grantsPage(place: SettingsPlace<string>, oauth: OauthProvider): ForgePageRoute[] {
  return settingsPage(place, {
    at: "applications/oauth2",
    title: "Applications",
    show: (view) => show(view, oauth),
    actions: {
      async revoke(request) {
        const id = Number(readText(request, "grant"));
        await oauth.revokeGrant(request.session.caller.user, id);
      },
      register,
      async delete(request) {
        const params = { id: readText(request, "id") };
        await request.call(oauthApplicationEndpoints.deleteOauthApplication, { params });
      },
    },
  });
}

const fields = {
  name: { label: "Name", max: 255 },
  redirect_uris: { label: "Redirect URIs, one a line", type: "multiline" },
  confidential_client: { label: "It keeps a secret, as a server does", type: "check" },
} as const satisfies Record<string, SettingsField>;

async function show(view: View, oauth: OauthProvider) {
  const grants = await oauth.listGrants(view.session.caller.user);
  const { body: own, total } = await view.call(oauthApplicationEndpoints.listOauthApplications, {
    query: toWindow(view),
  });
  return (
    <>
      <Entries
        view={view}
        label="Authorized applications"
        empty="You have authorized no application."
        entries={grants.map(({ grant, application }) => ({
          key: grant.id,
          name: <bdi>{application.name}</bdi>,
          note: (
            <>
              <code>{grant.scope}</code> · authorized{" "}
              <Time at={new Date(grant.updatedAt).toISOString()} />
            </>
          ),
          tools: (
            <DeleteEntry
              view={view}
              action="revoke"
              hidden={{ grant: String(grant.id) }}
              submit={`Revoke ${application.name}`}
            />
          ),
        }))}
      />
      <h3>Your own applications</h3>
      <Entries
        view={view}
        label="Your own applications"
        empty="You have registered no application."
        total={total}
        entries={own.map((application) => ({
          key: application.id,
          name: <bdi>{application.name}</bdi>,
          note: (
            <>
              <code>{application.client_id}</code> · {application.redirect_uris.join(", ")}
            </>
          ),
          tools: (
            <DeleteEntry
              view={view}
              hidden={{ id: String(application.id) }}
              submit={`Delete ${application.name}`}
            />
          ),
        }))}
      />
      <h3>Register an application</h3>
      <ActionForm view={view} action="register" submit="Register application" fields={fields} />
    </>
  );
}

async function register(request: Request) {
  const { body } = await request.call(oauthApplicationEndpoints.createOauthApplication, {
    body: {
      name: readText(request, "name"),
      redirect_uris: readText(request, "redirect_uris")
        .split(/\s+/)
        .filter((uri) => uri !== ""),
      confidential_client: readFlag(request, "confidential_client"),
    },
  });
  return { secret: { title: `Credentials of ${body.name}`, value: toCredentials(body) } };
}

const toCredentials = ({ client_id, client_secret }: WireOauthApplication): string =>
  `client_id: ${client_id}\nclient_secret: ${client_secret}`;
