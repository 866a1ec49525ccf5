import { invitationEndpoints } from "../contract/forge/accounts/invitations.ts";
import { vaultAdminEndpoints } from "../contract/vault/admin.ts";
import { AppError } from "../errors.ts";
import { PEOPLE } from "../vault/pages/admin-tabs.tsx";
import {
  type SignedInContext,
  toText,
  tryForm,
  type VaultPageAnswer,
} from "../vault/pages/vault-page.ts";
import type { BothSides } from "./find-people.ts";

/** The fields of the form that invites a person. */
export function InviteForm({ form }: { form: URLSearchParams }) {
  return (
    <>
      <label>
        User name
        <input
          name="name"
          required
          maxLength={32}
          defaultValue={form.get("name") ?? ""}
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
        Full name, which only the forge knows
        <input name="full_name" maxLength={100} defaultValue={form.get("full_name") ?? ""} />
      </label>
      <label className="check">
        <input type="checkbox" name="admin" value="yes" /> Administrator of the forge
      </label>
      <label className="check">
        <input type="checkbox" name="link" value="yes" /> Show the link instead of mailing it
      </label>
      <div>
        <button className="primary">Invite</button>
      </div>
    </>
  );
}

/**
 * Makes both accounts, or another link for those that have no password yet. Throws the refusal of a side; what the other one
 * has done is in its text, and the form can be sent again.
 */
export async function invitePerson(
  { form }: Pick<SignedInContext, "form">,
  { forge, vault }: BothSides,
): Promise<VaultPageAnswer> {
  const name = form.get("name")?.trim() ?? "";
  const email = form.get("email")?.trim() ?? "";
  const notify = form.get("link") !== "yes";
  const person = { username: name, email, full_name: form.get("full_name")?.trim() ?? "" };
  const body = { ...person, admin: form.get("admin") === "yes" };
  const { body: first } = await forge(invitationEndpoints.invitePerson, { body });
  const tried = await tryForm(() =>
    vault(vaultAdminEndpoints.invitePerson, {
      body: { handle: name, email, notify, forge_code: first.code },
    }),
  );
  if ("result" in tried) return showInvitation(name, tried.result.body);
  const done = first.created ? "The account of the forge was made, that of the vault was not." : "";
  const again = "Send the form again, or remove the account.";
  throw new AppError("conflict", `${toText(tried.refusal)}. ${done} ${again}`);
}

/** The page with the link, which is shown once. */
function showInvitation(
  name: string,
  { link, mailed }: { readonly link: string; readonly mailed: boolean },
): VaultPageAnswer {
  return {
    kind: "page",
    title: `Invited ${name}`,
    hasSecret: true,
    body: (
      <>
        <h1>{`Invited ${name}`}</h1>
        {mailed ? (
          <p>The link was mailed. It works once and for seven days.</p>
        ) : (
          <>
            <p>Hand this link to the person. It works once and for seven days.</p>
            <pre tabIndex={0}>{link}</pre>
          </>
        )}
        <p>
          <a href={PEOPLE}>Back to the people</a>
        </p>
      </>
    ),
  };
}
