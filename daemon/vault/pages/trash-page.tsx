import { documentEndpoints } from "../../contract/vault/documents.ts";
import { AppError } from "../../errors.ts";
import { Alert, EmptyState, Pager, Time } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { toPageNumber } from "../../pages/page.ts";
import { HOME, TRASH } from "./addresses.ts";
import { Name, toConfirmation, toSizeText } from "./elements.tsx";
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

/** The deleted documents of the caller. */
export const trashPages: readonly VaultPageRoute[] = [
  open(TRASH, (context) => showTrash(context)),
  submit(TRASH, changeTrash),
];

async function showTrash(
  { call, request, session }: SignedInContext,
  failed?: string,
): Promise<VaultPageAnswer> {
  const page = toPageNumber(request);
  const query = { page: String(page), per_page: String(PER_PAGE) };
  const { items, total } = (await call(documentEndpoints.listTrashedDocuments, { query })).body;
  const form = { action: TRASH, token: session.formToken };
  return {
    kind: "page",
    title: "Trash",
    status: failed === undefined ? 200 : 409,
    body: (
      <>
        <p className="crumbs">
          <a href={HOME}>Documents</a>
        </p>
        <h1>Trash</h1>
        <Alert text={failed} />
        {items.length === 0 ? (
          <EmptyState>
            The trash is empty. Deleted documents wait here, and can be restored, before they are
            deleted for ever.
          </EmptyState>
        ) : (
          <Form {...form}>
            <button name="action" value="empty" className="danger">
              Empty the trash
            </button>
          </Form>
        )}
        <ul className={items.length === 0 ? undefined : "list after"}>
          {items.map((each) => (
            <li key={each.id}>
              <Name>{each.filename}</Name>{" "}
              <span className="quiet">
                {toSizeText(each.size_bytes)}, deleted <Time at={each.deleted_at} />, removed for
                ever <Time at={each.expires_at} />
              </span>{" "}
              <Form {...form} className="inline">
                <input type="hidden" name="id" value={each.id} />
                <button
                  className="link"
                  name="action"
                  value="restore"
                  aria-label={`Restore ${each.filename}`}
                >
                  Restore
                </button>
                <button
                  className="link"
                  name="action"
                  value="purge"
                  aria-label={`Delete ${each.filename} for ever`}
                >
                  Delete for ever
                </button>
              </Form>
            </li>
          ))}
        </ul>
        <Pager page={page} limit={PER_PAGE} total={total} query={request.query} />
      </>
    ),
  };
}

async function changeTrash(context: SignedInContext): Promise<VaultPageAnswer> {
  const { form, call, session } = context;
  const action = form.get("action");
  const id = form.get("id") ?? "";
  if ((action === "empty" || action === "purge") && form.get("done") !== "yes")
    return toConfirmation({
      title: action === "empty" ? "Empty the trash?" : "Delete this document for ever?",
      children: <p>It cannot be restored afterwards.</p>,
      action: TRASH,
      token: session.formToken,
      fields: [
        ["action", action],
        ["id", id],
        ["done", "yes"],
      ],
      submit: action === "empty" ? "Empty the trash" : "Delete for ever",
      back: TRASH,
    });
  const params = { document_id: id };
  const tried = await tryForm(async () => {
    switch (action) {
      case "restore":
        return call(documentEndpoints.restoreDocument, { params });
      case "purge":
        return call(documentEndpoints.deleteTrashedDocument, { params });
      case "empty":
        return call(documentEndpoints.emptyDocumentTrash);
      default:
        throw new AppError("invalid_argument", "The page has no such form.");
    }
  });
  return "refusal" in tried
    ? showTrash(context, toText(tried.refusal))
    : { kind: "redirect", to: TRASH };
}
