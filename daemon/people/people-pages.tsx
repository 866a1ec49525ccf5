import { AppError } from "../errors.ts";
import { Alert, Table } from "../pages/elements.tsx";
import { Form, SearchForm } from "../pages/form.tsx";
import { AdminTabs, PEOPLE } from "../vault/pages/admin-tabs.tsx";
import {
  open,
  type SignedInContext,
  submit,
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "../vault/pages/vault-page.ts";
import {
  ACCOUNTS_MAX,
  type BothSides,
  findPeople,
  type KnownPerson,
  toForgeState,
  toKey,
  toPersonPath,
  toVaultState,
} from "./find-people.ts";
import type { OpenForgeSide } from "./forge-side.ts";
import { invitePerson, InviteForm } from "./invite.tsx";
import { changePerson, showPerson } from "./person-page.tsx";

/** People with the accounts of both sides, for those who administer both. */
export function peoplePages(openForge: OpenForgeSide): VaultPageRoute[] {
  const both =
    (show: (context: SignedInContext, sides: BothSides, key: string) => Promise<VaultPageAnswer>) =>
    async (context: SignedInContext, params: { readonly key?: string }) => {
      if (context.session.caller.role !== "admin") throw new AppError("not_found", "not found");
      const forge = await (await openForge()).callAsAdministrator(context.request);
      if (forge === undefined) return showForgeSignIn();
      return show(context, { forge, vault: context.call }, params.key ?? "");
    };
  return [
    open(
      PEOPLE,
      both((context, sides) => showPeople(context, sides)),
    ),
    submit(
      PEOPLE,
      both(async (context, sides) => {
        const tried = await tryForm(() => invitePerson(context, sides));
        return "result" in tried ? tried.result : showPeople(context, sides, toText(tried.refusal));
      }),
    ),
    open(`${PEOPLE}/:key`, both(showPerson)),
    submit(`${PEOPLE}/:key`, both(changePerson)),
  ];
}

function showForgeSignIn(): VaultPageAnswer {
  return {
    kind: "page",
    title: "People",
    body: (
      <>
        <h1>People</h1>
        <AdminTabs current="people" />
        <p>
          This page shows the accounts of forge and vault together. It needs the administrator of
          the forge as well.
        </p>
        <p>
          <a href={`/user/login?redirect_to=${encodeURIComponent(PEOPLE)}`}>Sign in to the forge</a>
        </p>
      </>
    ),
  };
}

async function showPeople(
  context: SignedInContext,
  sides: BothSides,
  failed?: string,
): Promise<VaultPageAnswer> {
  const { request, session, form } = context;
  const q = request.query.get("q") ?? "";
  const { people, isCut } = await findPeople(sides, q);
  return {
    kind: "page",
    title: "People",
    status: failed === undefined ? 200 : 422,
    body: (
      <>
        <h1>People</h1>
        <AdminTabs current="people" />
        <Alert text={failed} />
        <SearchForm label="Search people" query={q} />
        {isCut ? <p>Only the first {ACCOUNTS_MAX} accounts of each side are shown.</p> : null}
        <Table
          label="People"
          columns={["Name", "Forge", "Vault", "Address", "Matched by"]}
          rows={people.map((person) => ({
            key: toKey(person),
            cells: [
              <a key="name" href={toPersonPath(person)}>
                <bdi>{person.name}</bdi>
              </a>,
              person.forge === undefined ? "-" : toForgeState(person.forge),
              person.vault === undefined ? "-" : toVaultState(person.vault),
              toEmails(person),
              person.match ?? "",
            ],
          }))}
        />
        <h2>Invite a person</h2>
        <p>
          The person gets one link, chooses one password, and has an account of the forge and one of
          the vault.
        </p>
        <Form action={PEOPLE} token={session.formToken} className="stack">
          <InviteForm form={form} />
        </Form>
      </>
    ),
  };
}

function toEmails({ forge, vault }: KnownPerson): string {
  const emails = [forge?.email, vault?.email].flatMap((each) => each?.toLowerCase() ?? []);
  return [...new Set(emails)].join(", ");
}
