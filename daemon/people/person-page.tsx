import { adminUserEndpoints } from "../contract/forge/accounts/admin-users.ts";
import { vaultAdminEndpoints } from "../contract/vault/admin.ts";
import { AppError } from "../errors.ts";
import { Alert, Facts } from "../pages/elements.tsx";
import { Form } from "../pages/form.tsx";
import { AdminTabs, PEOPLE } from "../vault/pages/admin-tabs.tsx";
import {
  type SignedInContext,
  toText,
  tryForm,
  type VaultPageAnswer,
} from "../vault/pages/vault-page.ts";
import { invitePerson } from "./invite.tsx";
import {
  type BothSides,
  findPeople,
  type KnownPerson,
  toForgeState,
  toKey,
  toPersonPath,
  toVaultState,
} from "./find-people.ts";

async function findPerson(sides: BothSides, key: string): Promise<KnownPerson> {
  // The search of the other side by this name misses an account with another name, which has the same address.
  const name = key.replace(/^(?:forge|vault):/, "");
  const { people } = await findPeople(sides, name);
  const found = people.find((each) => toKey(each) === key);
  if (found === undefined) throw new AppError("not_found", "There is no such person.");
  if (found.forge !== undefined && found.vault !== undefined) return found;
  const { people: byEmail } = await findPeople(
    sides,
    found.forge?.email ?? found.vault?.email ?? "",
  );
  return byEmail.find((each) => toKey(each) === key) ?? found;
}

/** Shows both accounts of a person, with the forms that change and remove them. */
export async function showPerson(
  context: SignedInContext,
  sides: BothSides,
  key: string,
  failed?: string,
  status = failed === undefined ? 200 : 422,
): Promise<VaultPageAnswer> {
  const person = await findPerson(sides, key);
  const { forge, vault, match } = person;
  return {
    kind: "page",
    title: person.name,
    status,
    body: (
      <>
        <h1>
          <bdi>{person.name}</bdi>
        </h1>
        <AdminTabs current="people" />
        <Alert text={failed} />
        <Facts
          rows={[
            ["Forge", forge && `${toForgeState(forge)}, ${forge.email}`],
            ["Vault", vault && `${toVaultState(vault)}, ${vault.email}`],
            ["Matched by", match],
          ]}
        />
        {match === "name" ? (
          <p>
            The addresses differ, so these may be two people. Change them on the pages of{" "}
            <a href="/-/admin/users">the forge</a> and <a href="/vault/admin/users">the vault</a>.
          </p>
        ) : (
          <PersonForms person={person} token={context.session.formToken} />
        )}
      </>
    ),
  };
}

function PersonForms({ person, token }: { person: KnownPerson; token: string }) {
  const { forge, vault } = person;
  const form = { action: toPersonPath(person), token };
  const isActive =
    (forge === undefined || (forge.active && !forge.prohibit_login)) && (vault?.is_active ?? true);
  return (
    <>
      <Form {...form} className="stack">
        <Seen person={person} />
        <label>
          User name
          <input name="name" required maxLength={32} defaultValue={person.name} />
        </label>
        <label>
          E-mail address
          <input
            type="email"
            name="email"
            required
            maxLength={254}
            defaultValue={forge?.email ?? vault?.email}
          />
        </label>
        {forge === undefined ? null : (
          <>
            <label>
              Full name
              <input name="full_name" maxLength={100} defaultValue={forge.full_name} />
            </label>
            <label className="check">
              <input type="checkbox" name="admin" value="yes" defaultChecked={forge.is_admin} />{" "}
              Administrator of the forge
            </label>
          </>
        )}
        <label className="check">
          <input type="checkbox" name="active" value="yes" defaultChecked={isActive} /> May sign in
        </label>
        <div>
          <button name="action" value="edit" className="primary">
            Save
          </button>
        </div>
      </Form>
      <div className="actions">
        <Form {...form} className="inline">
          <Seen person={person} />
          <input type="hidden" name="name" value={person.name} />
          <input type="hidden" name="email" value={forge?.email ?? vault?.email} />
          <button name="action" value="invite">
            Show another link to choose a password
          </button>
          <button name="action" value="remove" className="danger">
            Remove
          </button>
        </Form>
      </div>
    </>
  );
}

/** The members of both accounts on which a form relies, by the words that name them. */
function toFacts({ forge, vault }: KnownPerson): readonly (readonly [string, unknown])[] {
  return [
    ["the account of the forge", forge?.id],
    ["its user name", forge?.login],
    ["its e-mail address", forge?.email],
    ["its full name", forge?.full_name],
    ["its right as administrator", forge?.is_admin],
    ["whether it may sign in", forge && forge.active && !forge.prohibit_login],
    ["the account of the vault", vault?.id],
    ["its handle", vault?.handle],
    ["its e-mail address", vault?.email],
    ["whether it may sign in", vault?.is_active],
  ];
}

const toSeen = (person: KnownPerson): readonly string[] =>
  toFacts(person).map(([, value]) => String(value ?? ""));

/** What the administrator sees who sends a form: another one may change or remove the accounts meanwhile. */
function Seen({ person }: { person: KnownPerson }) {
  return toSeen(person).map((value, at) => (
    <input key={at} type="hidden" name="seen" value={value} />
  ));
}

/** Returns the words for what has changed since a form was made; undefined when nothing has. */
function findChanges(person: KnownPerson, seen: readonly string[]): string | undefined {
  const current = toSeen(person);
  const words = toFacts(person).flatMap(([name], at) => (current[at] === seen[at] ? [] : [name]));
  return words.length === 0
    ? undefined
    : `This has changed since the page was opened: ${words.join(", ")}. Nothing was done.`;
}

/** Runs a form of a person's page. Shows what has changed, with 409, when the accounts are not those of the form. */
export async function changePerson(
  context: SignedInContext,
  sides: BothSides,
  key: string,
): Promise<VaultPageAnswer> {
  const { form } = context;
  const action = form.get("action");
  const person = await findPerson(sides, key);
  if (person.match === "name")
    throw new AppError("conflict", "The addresses differ, so these may be two people.");
  const changes = findChanges(person, form.getAll("seen"));
  if (changes !== undefined) return showPerson(context, sides, key, changes, 409);
  if (action === "remove") return showRemoval(context, person);
  if (action === "invite") {
    form.set("link", "yes");
    const tried = await tryForm(() => invitePerson(context, sides));
    return "result" in tried
      ? tried.result
      : showPerson(context, sides, key, toText(tried.refusal));
  }
  const isRemoval = action === "remove-all" || action === "remove-accounts";
  const work = isRemoval ? removePerson : editPerson;
  const tried = await tryForm(() => work(context, sides, person));
  if ("result" in tried) return { kind: "redirect", to: PEOPLE };
  return showPerson(context, sides, key, toText(tried.refusal));
}

/** The vault comes first: its rules refuse more. Sent again, the form changes only what still differs. */
async function editPerson(
  { form }: SignedInContext,
  sides: BothSides,
  { forge, vault }: KnownPerson,
): Promise<void> {
  const [name, email, fullName] = ["name", "email", "full_name"].map(
    (field) => form.get(field)?.trim() ?? "",
  );
  const isActive = form.get("active") === "yes";
  if (vault !== undefined) {
    const params = { id: vault.id };
    await sides.vault(vaultAdminEndpoints.editUser, { params, body: { handle: name, email } });
    if (vault.is_active !== isActive)
      await sides.vault(vaultAdminEndpoints.setUserStatus, {
        params,
        body: { is_active: isActive },
      });
  }
  if (forge === undefined) return;
  const params = { username: forge.login };
  await sayingWhatIsDone(
    vault && "The vault account was changed, that of the forge was not.",
    async () => {
      await sides.forge(adminUserEndpoints.editUser, {
        params,
        body: {
          login_name: forge.login,
          email,
          full_name: fullName,
          admin: form.get("admin") === "yes",
          active: isActive,
          ...(isActive ? { prohibit_login: false } : {}),
        },
      });
      if (name !== forge.login)
        await sides.forge(adminUserEndpoints.renameUser, { params, body: { new_username: name } });
    },
  );
}

async function removePerson(
  { form }: SignedInContext,
  sides: BothSides,
  { forge, vault }: KnownPerson,
): Promise<void> {
  if (forge !== undefined)
    await sides.forge(adminUserEndpoints.deleteUser, {
      params: { username: forge.login },
      query: { purge: String(form.get("action") === "remove-all") },
    });
  if (vault === undefined) return;
  await sayingWhatIsDone(forge && "The forge account was removed, that of the vault was not.", () =>
    sides.vault(vaultAdminEndpoints.deleteUser, { params: { id: vault.id } }),
  );
}

/** Adds to a refusal of the second side what the first one has done. */
async function sayingWhatIsDone(
  done: string | undefined,
  work: () => Promise<unknown>,
): Promise<void> {
  const tried = await tryForm(work);
  if ("result" in tried) return;
  const { code } = tried.refusal;
  throw new AppError(code, [`${toText(tried.refusal)}.`, done].filter(Boolean).join(" "));
}

function showRemoval({ session }: SignedInContext, person: KnownPerson): VaultPageAnswer {
  const { forge, vault, name } = person;
  return {
    kind: "page",
    title: `Remove ${name}?`,
    body: (
      <>
        <h1>{`Remove ${name}?`}</h1>
        {forge === undefined ? null : (
          <p>
            The forge account goes with its tokens and keys. It stays while it owns repositories or
            packages or belongs to an organization, unless these are deleted too.
          </p>
        )}
        {vault === undefined ? null : (
          <p>
            The vault account goes with its documents, connections and sessions. Files of connected
            storage and the records of the audit stay.
          </p>
        )}
        <Form action={toPersonPath(person)} token={session.formToken} className="inline">
          <Seen person={person} />
          <button name="action" value="remove-accounts" className="danger">
            Remove
          </button>
          {forge === undefined ? null : (
            <button name="action" value="remove-all" className="danger">
              Remove with everything that it owns
            </button>
          )}
        </Form>{" "}
        <a href={toPersonPath(person)}>Cancel</a>
      </>
    ),
  };
}
