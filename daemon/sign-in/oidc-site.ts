import type { ServerRequest } from "../http/handle.ts";
import type { PageAnswer, PageContext } from "../pages/page.ts";
import type { Session } from "../pages/sessions.ts";
import type { SignInFlows } from "./flows.ts";
import type { Identity, OidcClient } from "./oidc-client.ts";

/** What follows when the provider knows a person. */
export type IdentityOutcome<Caller> =
  | {
      readonly kind: "signed_in";
      readonly session: Session<Caller>;
      /** The first page of this account, where it is not that of the site. */
      readonly home?: string;
    }
  /** The linked account has a second factor, which the provider does not replace. */
  | { readonly kind: "code_required"; readonly account: string }
  | { readonly kind: "page"; readonly answer: PageAnswer<Caller> }
  /** No account is linked to the person. */
  | { readonly kind: "unknown" };

/** What a person enters to link an account. */
export interface Confirmation {
  readonly name: string;
  readonly password: string;
  /** Empty for none. */
  readonly code: string;
}

/** Identifies an identity. */
export interface IdentityKey {
  readonly issuer: string;
  readonly subject: string;
}

/** The accounts of a site. All methods throw refusals. */
export interface IdentityAccounts<Caller> {
  signIn(identity: Identity, context: PageContext<Caller>): Promise<IdentityOutcome<Caller>>;
  /** Completes the sign-in to a linked account by a code of its second factor. */
  answerCode(account: string, code: string, context: PageContext<Caller>): Promise<Session<Caller>>;
  /** Signs in by the password of an account, and links the identity to it. */
  confirm(
    identity: Identity,
    confirmation: Confirmation,
    context: PageContext<Caller>,
  ): Promise<Session<Caller>>;
  link(account: string, identity: Identity, context: PageContext<Caller>): Promise<void>;
  accountOf(session: Session<Caller>): string;
  list(session: Session<Caller>): Promise<readonly (IdentityKey & { readonly label: string })[]>;
  unlink(session: Session<Caller>, key: IdentityKey): Promise<void>;
}

/** A provider that is set up. */
export interface Provider {
  readonly name: string;
  readonly client: OidcClient;
  readonly flows: SignInFlows;
  /** Counts a sign-in that begins. Throws `rate_limited`. */
  readonly count: (request: ServerRequest) => Promise<void>;
}

/** The addresses of a site. */
export interface OidcPaths {
  /** Begins the names of the others. Browsers send the cookie of a sign-in under way below it. */
  readonly start: string;
  readonly signIn: string;
  /** The page that a sign-in leads to when it names none. */
  readonly home: string;
  readonly identities: string;
  /** What the field of the account asks for. */
  readonly nameLabel: string;
}

export interface OidcSite<Caller> {
  readonly name: string;
  readonly paths: OidcPaths;
  readonly accounts: IdentityAccounts<Caller>;
  /** Undefined when no provider is set up. */
  readonly provider: Provider | undefined;
}
