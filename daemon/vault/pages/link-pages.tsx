import type { z } from "zod";
import { type link, linkEndpoints } from "../../contract/vault/links.ts";
import { AppError } from "../../errors.ts";
import { Alert, EmptyState, Pager, Time } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import type { CallOperation } from "../../pages/operations.ts";
import { toPageNumber } from "../../pages/page.ts";
import { HOME, LINKS } from "./addresses.ts";
import { Name, toSizeText } from "./elements.tsx";
import {
  open,
  type SignedInContext,
  submit,
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "./vault-page.ts";

const PER_PAGE = 50;

/** The links of the caller for people without an account. */
export const linkPages: readonly VaultPageRoute[] = [
  open(LINKS, (context) => showLinks(context)),
  submit(LINKS, changeLinks),
];

type Link = z.output<typeof link>;

async function showLinks(context: SignedInContext, failed?: string): Promise<VaultPageAnswer> {
  const { call, request, session } = context;
  const page = toPageNumber(request);
  const query = { page: String(page), per_page: String(PER_PAGE) };
  const { items, total } = (await call(linkEndpoints.listLinks, { query })).body;
  const token = session.formToken;
  return {
    kind: "page",
    title: "Links",
    status: failed === undefined ? 200 : 422,
    body: (
      <>
        <h1>Links</h1>
        <Alert text={failed} />
        {items.length === 0 ? (
          <EmptyState>
            No links. Open a document, or choose several in <a href={HOME}>Documents</a>, and press
            Link. A link to receive files is made below.
          </EmptyState>
        ) : (
          <ul className="list" data-rows>
            {items.map((each) => (
              <LinkRow key={each.id} link={each} token={token} />
            ))}
          </ul>
        )}
        <Pager page={page} limit={PER_PAGE} total={total} query={request.query} />
        <h2>Receive files</h2>
        <p>People who open such a link send you files. They see nothing of your vault.</p>
        <Form action={LINKS} token={token} className="stack">
          <label>
            Title for those who open it
            <input name="name" required maxLength={255} />
          </label>
          <label>
            Message for them
            <textarea name="message" maxLength={2000} />
          </label>
          <label>
            Files at most
            <input name="max_files" inputMode="numeric" pattern="[0-9]+" />
          </label>
          <LinkFields />
          <div>
            <button name="action" value="receive">
              Make the link
            </button>
          </div>
        </Form>
      </>
    ),
  };
}

const statuses: Readonly<Record<Link["status"], string | undefined>> = {
  active: undefined,
  expired: "expired",
  used_up: "used up",
  unavailable: "its target is deleted",
};

function LinkRow({ link: each, token }: { link: Link; token: string }) {
  const status = statuses[each.status];
  return (
    <li data-row>
      <strong>
        <Name>{each.name}</Name>
      </strong>{" "}
      {status === undefined ? null : <span className="state bad">{status}</span>}
      <p className="quiet">{toCounts(each)}</p>
      <p className="quiet">
        {each.expires_at === null ? (
          "Without an end"
        ) : (
          <>
            {each.status === "expired" ? "Ended " : "Ends "}
            <Time at={each.expires_at} />
          </>
        )}
        {each.has_password ? ", with a password" : ""}
      </p>
      {each.url === null ? null : (
        <div className="row">
          <input readOnly value={each.url} aria-label={`Address of ${each.name}`} data-copy />
        </div>
      )}
      <Form action={LINKS} token={token} className="inline">
        <input type="hidden" name="id" value={each.id} />
        <button className="link" name="action" value="revoke" aria-label={`Revoke ${each.name}`}>
          Revoke
        </button>
      </Form>
    </li>
  );
}

function toCounts(each: Link): string {
  if (each.kind === "upload") {
    const max = each.max_files === null ? "" : ` of ${each.max_files}`;
    return `${each.files}${max} files received, ${toSizeText(each.received_bytes)}`;
  }
  const max = each.max_downloads === null ? "" : ` of ${each.max_downloads}`;
  return `${each.downloads}${max} downloads`;
}

/** The end and the password of a new link. */
export function LinkFields() {
  return (
    <>
      <label>
        Last day; without one, a week from now
        <input type="date" name="until" />
      </label>
      <label className="check">
        <input type="checkbox" name="forever" value="yes" /> Without an end
      </label>
      <label>
        Password, if it needs one
        <input type="password" name="link_password" maxLength={1024} autoComplete="new-password" />
      </label>
    </>
  );
}

/** Makes a link with the fields of a form; `target` says what it gives. */
export function createLink(
  call: CallOperation,
  form: URLSearchParams,
  target: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const number = (name: string) => (form.get(name) ? { [name]: Number(form.get(name)) } : {});
  const until = form.get("until") ?? "";
  const password = form.get("link_password") ?? "";
  const body = {
    ...target,
    ...number("max_downloads"),
    ...number("max_files"),
    ...(until === "" ? {} : { expires_at: `${until}T23:59:59Z` }),
    ...(form.get("forever") === "yes" ? { expires_at: null } : {}),
    ...(password === "" ? {} : { password }),
  };
  return call(linkEndpoints.createLink, { body });
}

async function changeLinks(context: SignedInContext): Promise<VaultPageAnswer> {
  const { form, call } = context;
  const tried = await tryForm(async () => {
    switch (form.get("action")) {
      case "receive": {
        const message = form.get("message") ?? "";
        const target = {
          kind: "upload",
          name: form.get("name") ?? "",
          ...(message === "" ? {} : { message }),
        };
        return createLink(call, form, target);
      }
      case "revoke":
        return call(linkEndpoints.deleteLink, { params: { link_id: form.get("id") ?? "" } });
      default:
        throw new AppError("invalid_argument", "The page has no such form.");
    }
  });
  return "refusal" in tried
    ? showLinks(context, toText(tried.refusal))
    : { kind: "redirect", to: LINKS };
}
