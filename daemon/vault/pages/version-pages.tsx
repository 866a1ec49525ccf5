import { documentEndpoints } from "../../contract/vault/documents.ts";
import { AppError } from "../../errors.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import { Alert, Time } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { toDocumentPath } from "./addresses.ts";
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

/** The contents of a document, the present one and the earlier ones. */
export function versionPages(): VaultPageRoute[] {
  return [
    open("/vault/d/:id/versions", (context, { id }) => showVersions(context, id)),
    submit("/vault/d/:id/versions", changeVersions, { takesFiles: true }),
    open("/vault/d/:id/versions/:number", async ({ call }, { id, number }) => ({
      kind: "file",
      answer: (await call(documentEndpoints.getDocumentVersionContent, {
        params: { document_id: id, number },
        query: { disposition: "attachment" },
      })) as unknown as BytesAnswer,
    })),
  ];
}

async function showVersions(
  { call, session }: SignedInContext,
  id: string,
  failed?: string,
): Promise<VaultPageAnswer> {
  const params = { document_id: id };
  const document = (await call(documentEndpoints.getDocument, { params })).body;
  const query = { per_page: "100" };
  const { items } = (await call(documentEndpoints.listDocumentVersions, { params, query })).body;
  const here = `${toDocumentPath(id)}/versions`;
  const form = { action: here, token: session.formToken };
  return {
    kind: "page",
    title: `Versions of ${document.filename}`,
    status: failed === undefined ? 200 : 409,
    body: (
      <>
        <p className="crumbs">
          <a href={toDocumentPath(id)}>
            <Name>{document.filename}</Name>
          </a>
        </p>
        <h1>Versions</h1>
        <Alert text={failed} />
        <ul className="list">
          {items.map((each) => (
            <li key={each.number}>
              <a href={`${here}/${each.number}`}>Version {each.number}</a>{" "}
              <span className="quiet">
                <Time at={each.created_at} />, {toSizeText(each.size_bytes)}
              </span>{" "}
              {each.is_current ? (
                <strong>the present one</strong>
              ) : (
                <Form {...form} className="inline">
                  <input type="hidden" name="number" value={each.number} />
                  <button
                    className="link"
                    name="action"
                    value="restore"
                    aria-label={`Restore version ${each.number}`}
                  >
                    Restore
                  </button>
                </Form>
              )}
            </li>
          ))}
        </ul>
        <h2>Replace the content</h2>
        <Form {...form} className="stack" encType="multipart/form-data">
          <input type="hidden" name="action" value="replace" />
          <input type="hidden" name="replaces" value={document.sha256} />
          <label>
            File
            <input type="file" name="file" required />
          </label>
          <div>
            <button>Replace</button>
          </div>
        </Form>
      </>
    ),
  };
}

async function changeVersions(
  context: SignedInContext,
  { id }: { readonly id: string },
): Promise<VaultPageAnswer> {
  const tried = await tryForm(
    () => runAction(context, id),
    [
      "invalid_argument",
      "not_found",
      "precondition_failed",
      "too_large",
      "unavailable",
      "unprocessable",
    ],
  );
  return "refusal" in tried
    ? showVersions(context, id, toText(tried.refusal))
    : { kind: "redirect", to: `${toDocumentPath(id)}/versions` };
}

async function runAction({ form, files, call }: SignedInContext, id: string): Promise<unknown> {
  const params = { document_id: id };
  switch (form.get("action")) {
    case "restore": {
      const number = form.get("number") ?? "";
      return call(documentEndpoints.restoreDocumentVersion, { params: { ...params, number } });
    }
    case "replace":
      for await (const { stream, contentType } of files)
        return call(documentEndpoints.replaceDocumentContent, {
          params,
          body: stream,
          // The length in the form is that of the whole form.
          headers: {
            "if-match": form.get("replaces") ?? "",
            "content-type": contentType,
            "content-length": undefined,
          },
        });
      throw new AppError("invalid_argument", "Choose a file.");
    default:
      throw new AppError("invalid_argument", "The page has no such form.");
  }
}
