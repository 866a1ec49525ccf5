import { documentEndpoints } from "../../contract/vault/documents.ts";
import { accountEndpoints } from "../../contract/vault/auth.ts";
import { Form } from "../../pages/form.tsx";
import { ADD, HOME } from "./addresses.ts";
import { toSizeText } from "./elements.tsx";
import { showRefused, storeFiles } from "./uploads.tsx";
import {
  open,
  type SignedInContext,
  submit,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "./vault-page.ts";

/** The address that a phone sends files to, which another app shares; see the web manifest. */
export const SHARE_TARGET = `${ADD}/shared`;

/** The form that adds documents. The script uploads several files at once, and shows the progress of each. */
export function addPages(): VaultPageRoute[] {
  return [
    open(ADD, showForm),
    submit(ADD, addDocuments, { takesFiles: true }),
    submit(SHARE_TARGET, addDocuments, { takesFiles: true, isShareTarget: true }),
  ];
}

async function showForm({ session, call }: SignedInContext): Promise<VaultPageAnswer> {
  const { used_bytes: used, limit_bytes: limit } = (await call(accountEndpoints.myQuota)).body;
  return {
    kind: "page",
    title: "Add documents",
    body: (
      <>
        <h1>Add documents</h1>
        <p className="quiet">
          {toSizeText(Math.max(0, limit - used))} of {toSizeText(limit)} are free.
        </p>
        <UploadForm action={ADD} token={session.formToken} to="documents" />
      </>
    ),
  };
}

/** A form for files, which the script extends: `to` is the target that it uploads to. */
export function UploadForm({
  action,
  token,
  to,
  folder = "",
}: {
  action: string;
  token: string;
  to: string;
  folder?: string;
}) {
  return (
    <Form
      action={action}
      token={token}
      className="stack upload"
      encType="multipart/form-data"
      data={{ "data-upload": to, "data-folder": folder }}
    >
      {folder === "" ? null : <input type="hidden" name="folder" value={folder} />}
      <input type="hidden" name="action" value="upload" />
      <label>
        Files
        <input type="file" name="file" multiple required />
      </label>
      <div>
        <button className="primary">Upload</button>
      </div>
    </Form>
  );
}

async function addDocuments({ files, call }: SignedInContext): Promise<VaultPageAnswer> {
  const outcome = await storeFiles(files, (file, filename) =>
    call(documentEndpoints.uploadDocument, {
      body: { fields: { filename }, file: { ...file, field: "file" } },
    }),
  );
  return outcome.refused.length === 0 ? { kind: "redirect", to: HOME } : showRefused(outcome, ADD);
}
