import { optional, setting } from "./declare.ts";
import { issuer, onOff, text } from "./types.ts";

/** Settings of the sign-in by an OpenID provider, for the pages of forge and vault. Off without an issuer. */
export const signInDeclarations = {
  oidcIssuer: optional("Accounts and keys", issuer, "no sign-in by a provider", {
    help: "OpenID provider by which people sign in on the pages, as it names itself",
  }),
  oidcClientId: optional("Accounts and keys", text, "none", {
    help: "Id of croft at the provider",
  }),
  oidcClientSecret: optional("Accounts and keys", text, "a client without a secret", {
    help: "Its secret",
    secret: true,
  }),
  oidcName: setting("Accounts and keys", text, "the provider", {
    help: 'Name of the provider on the button: "Sign in with NAME"',
  }),
  oidcScopes: setting("Accounts and keys", text, "openid profile email", {
    help: "What croft asks the provider for",
  }),
  oidcGroupsClaim: setting("Accounts and keys", text, "groups", {
    help: "Claim with the names of the person's groups",
  }),
  oidcForgeAdminGroup: optional("Accounts and keys", text, "the provider makes no administrators", {
    help: "Group whose members are administrators of the forge; others lose the right when they sign in by the provider",
  }),
  oidcVaultAdminGroup: optional("Accounts and keys", text, "the provider makes no administrators", {
    help: "The same for the vault",
  }),
  oidcCreateAccounts: setting("Accounts and keys", onOff, false, {
    help: "Make an account for a person of the provider who has none and a verified address",
  }),
};
