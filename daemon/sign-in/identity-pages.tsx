import { AppError } from "../errors.ts";
import { Alert, EmptyState } from "../pages/elements.tsx";
import { Form } from "../pages/form.tsx";
import type { PageAnswer, PageContext } from "../pages/page.ts";
import type { OidcSite } from "./oidc-site.ts";

/** Lists the identities that are linked to the account of the session. */
export async function showIdentities<Caller>(
  { paths, provider, accounts }: OidcSite<Caller>,
  { session }: PageContext<Caller>,
  failed?: string,
): Promise<PageAnswer<Caller>> {
  if (session === undefined) return { kind: "redirect", to: paths.signIn };
  const identities = await accounts.list(session);
  return {
    kind: "page",
    title: "Sign-in by a provider",
    status: failed === undefined ? 200 : 422,
    body: (
      <>
        <h1>Sign-in by a provider</h1>
        <Alert text={failed} />
        {identities.length === 0 ? (
          <EmptyState>No identity of a provider is linked to this account.</EmptyState>
        ) : (
          <ul className="list">
            {identities.map(({ issuer, subject, label }) => (
              <li key={`${issuer} ${subject}`}>
                <bdi>{label}</bdi> <span className="quiet">{issuer}</span>{" "}
                <Form action={paths.identities} token={session.formToken} className="inline">
                  <input type="hidden" name="issuer" value={issuer} />
                  <input type="hidden" name="subject" value={subject} />
                  <button type="submit">Unlink</button>
                </Form>
              </li>
            ))}
          </ul>
        )}
        {provider === undefined ? null : (
          <Form action={paths.start} token={session.formToken} className="inline">
            <input type="hidden" name="link" value="yes" />
            <button type="submit">{`Link an identity of ${provider.name}`}</button>
          </Form>
        )}
      </>
    ),
  };
}

/** Unlinks one of them. */
export async function unlinkIdentity<Caller>(
  site: OidcSite<Caller>,
  context: PageContext<Caller>,
): Promise<PageAnswer<Caller>> {
  const { session, form } = context;
  if (session === undefined) return { kind: "redirect", to: site.paths.signIn };
  const key = { issuer: form.get("issuer") ?? "", subject: form.get("subject") ?? "" };
  try {
    await site.accounts.unlink(session, key);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "conflict") throw error;
    return showIdentities(site, context, error.message);
  }
  return { kind: "redirect", to: site.paths.identities };
}
