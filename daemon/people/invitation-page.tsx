import { passwordResetEndpoints } from "../contract/forge/accounts/password-reset.ts";
import { INVITATION_PAGE } from "../contract/api-of.ts";
import type { InvitationCodes } from "../contract/people.ts";
import {
  describeStrengthRules,
  STRENGTH_RULES,
  toCommonRules,
  toStrengthRules,
} from "../contract/password-rules.ts";
import { accountEndpoints } from "../contract/vault/auth.ts";
import { declareForm, type FormFailure } from "../pages/form.tsx";
import { get, post } from "../pages/page.ts";
import {
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageContext,
  type VaultPageRoute,
} from "../vault/pages/vault-page.ts";
import type { OpenForgeSide } from "./forge-side.ts";

export interface InvitationPageDeps {
  readonly openForge: OpenForgeSide;
  /** Returns whether the code of an invitation to the vault can still set a password. */
  readonly isVaultCodeUsable: (code: string) => Promise<boolean>;
}

/** The page on which an invited person chooses one password for the accounts of the link. */
export function invitationPages(deps: InvitationPageDeps): VaultPageRoute[] {
  return [
    get(INVITATION_PAGE, async ({ request: { query } }) => {
      const codes = await findUsable(deps, {
        forge: query.get("forge") ?? undefined,
        vault: query.get("vault") ?? undefined,
      });
      return isSpent(codes) ? showSpent() : (await createChoice(deps))(codes);
    }),
    post(INVITATION_PAGE, (context) => choosePassword(deps, context)),
  ];
}

const newPassword = (label: string) =>
  ({ label, type: "password", lengthMax: 1024, autoComplete: "new-password" }) as const;

const choiceForm = declareForm({
  action: INVITATION_PAGE,
  submit: "Set the password",
  fields: {
    forge: { type: "hidden" },
    vault: { type: "hidden" },
    password: newPassword("Password"),
    again: newPassword("Password again"),
  },
});

/** Leaves out the codes that were used or have expired, so that a link whose second half failed can be used again. */
async function findUsable(
  { openForge, isVaultCodeUsable }: InvitationPageDeps,
  { forge, vault }: InvitationCodes,
): Promise<InvitationCodes> {
  const forgeIsUsable =
    forge !== undefined && forge !== "" && (await (await openForge()).isUsable(forge));
  const vaultIsUsable = vault !== undefined && vault !== "" && (await isVaultCodeUsable(vault));
  return { forge: forgeIsUsable ? forge : undefined, vault: vaultIsUsable ? vault : undefined };
}

const isSpent = ({ forge, vault }: InvitationCodes): boolean =>
  forge === undefined && vault === undefined;

async function choosePassword(
  deps: InvitationPageDeps,
  context: VaultPageContext,
): Promise<VaultPageAnswer> {
  const showChoice = await createChoice(deps);
  const { password, again, ...sent } = choiceForm.read(context.form);
  const codes = await findUsable(deps, sent);
  if (isSpent(codes)) return showSpent();
  if (password !== again)
    return showChoice(codes, { text: "The two passwords differ.", field: "again" });
  const forge = await deps.openForge();
  // Checked before either account changes: a password that one side refuses is set on neither.
  const broken = codes.forge === undefined ? undefined : await forge.findBroken(password);
  if (broken !== undefined) return showChoice(codes, { text: broken, field: "password" });
  if (codes.vault !== undefined) {
    const body = { token: codes.vault, new_password: password };
    const tried = await tryForm(() =>
      context.call(accountEndpoints.confirmPasswordReset, { body }),
    );
    if ("refusal" in tried)
      return showChoice(codes, { text: toText(tried.refusal), field: "password" });
  }
  if (codes.forge !== undefined) {
    const body = { token: codes.forge, new_password: password };
    const call = forge.callAsAnyone(context.request);
    const tried = await tryForm(() =>
      call(passwordResetEndpoints.confirmUserPasswordReset, { body }),
    );
    if ("refusal" in tried) {
      const done =
        codes.vault === undefined
          ? ""
          : " The password of your documents is set; choose it here again for your repositories.";
      return showChoice({ forge: codes.forge }, { text: `${toText(tried.refusal)}.${done}` });
    }
  }
  return showDone(codes);
}

type ShowChoice = (
  codes: InvitationCodes,
  failed?: FormFailure<"password" | "again">,
) => VaultPageAnswer;

/** Returns the function that shows the form, with the rules of the accounts that it is for. */
async function createChoice({ openForge }: InvitationPageDeps): Promise<ShowChoice> {
  const { passwordDemands: ofForge } = await openForge();
  const toRules = ({ forge, vault }: InvitationCodes) => {
    if (forge === undefined) return STRENGTH_RULES;
    return vault === undefined ? toStrengthRules(ofForge) : toCommonRules(ofForge);
  };
  return (codes, failed) => toChoicePage(codes, describeStrengthRules(toRules(codes)), failed);
}

function toChoicePage(
  { forge = "", vault = "" }: InvitationCodes,
  rules: string,
  failed: FormFailure<"password" | "again"> | undefined,
): VaultPageAnswer {
  return {
    kind: "page",
    title: "Choose a password",
    status: failed === undefined ? 200 : 422,
    hasSecret: true,
    body: (
      <div className="narrow" data-hides-query>
        <h1>Choose a password</h1>
        <p>{toPurpose(forge !== "", vault !== "")}</p>
        <p className="quiet">{rules}.</p>
        <choiceForm.Form token={undefined} values={{ forge, vault }} failed={failed} />
      </div>
    ),
  };
}

function toPurpose(isForForge: boolean, isForVault: boolean): string {
  if (isForForge && isForVault) return "It is for your repositories and for your documents.";
  return isForForge ? "It is for your repositories." : "It is for your documents.";
}

function showDone({ forge, vault }: InvitationCodes): VaultPageAnswer {
  return {
    kind: "page",
    title: "Your password is set",
    body: (
      <div className="narrow" data-hides-query>
        <h1>Your password is set</h1>
        <ul>
          {forge === undefined ? null : (
            <li>
              <a href="/user/login">Sign in to your repositories</a>
            </li>
          )}
          {vault === undefined ? null : (
            <li>
              <a href="/vault/sign-in">Sign in to your documents</a>
            </li>
          )}
        </ul>
      </div>
    ),
  };
}

function showSpent(): VaultPageAnswer {
  return {
    kind: "page",
    title: "This link no longer works",
    status: 410,
    body: (
      <div className="narrow" data-hides-query>
        <h1>This link no longer works</h1>
        <p>It was used or has expired. The administrator can give you another one.</p>
      </div>
    ),
  };
}
