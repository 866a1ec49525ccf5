import type { ReactNode } from "react";
import type { z } from "zod";
import { accountEndpoints } from "../../contract/vault/auth.ts";
import { type document, documentEndpoints } from "../../contract/vault/documents.ts";
import { shareInvitationEndpoints } from "../../contract/vault/invitations.ts";
import { type share, shareEndpoints } from "../../contract/vault/shares.ts";
import { AppError } from "../../errors.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import { Alert, Facts, Menu, Time } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { createLink, LinkFields } from "./link-pages.tsx";
import { ensureTopic, ShareFields, shareWith, showInvitations } from "./document-forms.tsx";
import { Name, Status, toConfirmation, toKind, toSizeText } from "./elements.tsx";
import { type ShownFile, showPreview, toFramed } from "./preview.tsx";
import { HOME, LINKS, SHARED, toDocumentPath, toTopicPath } from "./addresses.ts";
import { sendThumbnail } from "./tiles.tsx";
import {
  open,
  type SignedInContext,
  submit,
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "./vault-page.ts";

type FullDocument = z.output<typeof document>;
type Share = z.output<typeof share>;

const SHARES_PER_PAGE = "100";

/** The page of a document, its bytes and its changes. */
export function documentPages(): VaultPageRoute[] {
  return [
    open("/vault/d/:id", (context, { id }) => showDocument(context, id)),
    submit("/vault/d/:id", changeDocument),
    open("/vault/d/:id/delete", async ({ session, call }, { id }) => {
      const { filename } = await getDocument(call, id);
      return toConfirmation({
        title: "Delete this document?",
        children: (
          <p>
            <Name>{filename}</Name>. It goes to the trash.
          </p>
        ),
        action: toDocumentPath(id),
        token: session.formToken,
        fields: [["action", "delete"]],
        submit: "Delete",
        back: toDocumentPath(id),
      });
    }),
    open("/vault/d/:id/raw", ({ call }, { id }) => sendBytes(call, id, "inline")),
    open("/vault/d/:id/thumbnail", ({ call }, { id }) => sendThumbnail(call, id)),
    open("/vault/d/:id/download", ({ call }, { id }) => sendBytes(call, id, "attachment")),
  ];
}

type Call = SignedInContext["call"];

async function getDocument(call: Call, id: string): Promise<FullDocument> {
  return (await call(documentEndpoints.getDocument, { params: { document_id: id } })).body;
}

async function sendBytes(
  call: Call,
  id: string,
  disposition: "inline" | "attachment",
): Promise<VaultPageAnswer> {
  const answer = (await call(documentEndpoints.getDocumentContent, {
    params: { document_id: id },
    query: { disposition },
  })) as unknown as BytesAnswer;
  return disposition === "inline" ? toFramed(answer) : { kind: "file", answer };
}

async function showDocument(
  context: SignedInContext,
  id: string,
  failed?: string,
): Promise<VaultPageAnswer> {
  const { call, session } = context;
  // A refused form is shown again as it was sent.
  const sent = failed === undefined ? undefined : context.form;
  const found = await getDocument(call, id);
  const isOwn = found.extracted_text !== undefined;
  const { pdf_open_mode: pdfMode } = (await call(accountEndpoints.viewPreferences)).body;
  const file: ShownFile = {
    name: found.filename,
    contentType: found.content_type,
    size: found.size_bytes,
    extractedText: found.extracted_text,
    rawPath: `${toDocumentPath(id)}/raw`,
    content: {
      declared: documentEndpoints.getDocumentContent,
      input: { params: { document_id: id }, query: { disposition: "inline" } },
    },
  };
  return {
    kind: "page",
    title: found.filename,
    status: failed === undefined ? 200 : 422,
    body: (
      <>
        <p className="crumbs">
          <a href={isOwn ? HOME : SHARED}>{isOwn ? "Documents" : "Shared"}</a>
        </p>
        <h1>
          <Name>{found.filename}</Name>
        </h1>
        <Alert text={failed} />
        <div className="actions">
          <a className="button" href={`${toDocumentPath(id)}/download`} data-keep>
            Download
          </a>
          {isOwn ? (
            <>
              <a className="button" href={`${toDocumentPath(id)}/versions`}>
                Versions
              </a>
              <a className="button" href={`${toDocumentPath(id)}/events`}>
                Events
              </a>
              <a className="button" href={`${toDocumentPath(id)}/delete`}>
                Delete
              </a>
            </>
          ) : null}
        </div>
        <div className="columns">
          <section aria-label="Preview" className="preview">
            {await showPreview(context, file, pdfMode === "in_app")}
          </section>
          <section aria-label="Details">
            <Details document={found} />
            {isOwn ? (
              <Changes
                document={found}
                shares={await listSharesOf(call, id)}
                invitations={await showInvitations(call, id, session.formToken)}
                token={session.formToken}
                sent={sent}
              />
            ) : null}
          </section>
        </div>
      </>
    ),
  };
}

/** Returns the shares of a document. */
async function listSharesOf(call: Call, id: string): Promise<readonly Share[]> {
  const shares: Share[] = [];
  for (let page = 1; ; page += 1) {
    const query = { page: String(page), per_page: SHARES_PER_PAGE };
    const { body } = await call(shareEndpoints.listShares, { query });
    shares.push(...body.items);
    if (shares.length >= body.total || body.items.length === 0)
      return shares.filter(({ document_id: of }) => of === id);
  }
}

function Details({ document: found }: { document: FullDocument }) {
  const { classification, status_reason: reason } = found;
  return (
    <>
      <Status id={found.id} status={found.status} />
      {reason === null ? null : <p className="quiet">{reason}</p>}
      <Facts
        rows={[
          ["Kind", toKind(found.content_type)],
          ["Size", toSizeText(found.size_bytes)],
          ["Added", <Time key="added" at={found.created_at} />],
          ["Changed", <Time key="changed" at={found.updated_at} />],
          ["Kept", found.storage_backend === "internal" ? "on this server" : found.storage_backend],
          ["Topic", classification === null ? undefined : <Reason {...classification} />],
        ]}
      />
    </>
  );
}

/** Why a document has its topic. */
function Reason({
  topic,
  confidence,
  provider,
  words,
}: NonNullable<FullDocument["classification"]>) {
  return (
    <>
      <Name>{topic}</Name>, {Math.round(confidence * 100)} % sure
      <span className="quiet">
        {words.length === 0 ? ` (${provider})` : ` because of: ${words.join(", ")}`}
      </span>
    </>
  );
}

function Changes({
  document: { id, filename, topics },
  shares,
  invitations,
  token,
  sent,
}: {
  document: FullDocument;
  shares: readonly Share[];
  invitations: ReactNode;
  token: string;
  sent: URLSearchParams | undefined;
}) {
  const isSent = (action: string) => sent?.get("action") === action;
  const form = { action: toDocumentPath(id), token };
  return (
    <>
      <h2>Topics</h2>
      <ul className="plain-list">
        {topics.map((name) => (
          <li key={name}>
            <a href={toTopicPath(name)}>
              <Name>{name}</Name>
            </a>{" "}
            <Form {...form} className="inline">
              <input type="hidden" name="topic" value={name} />
              <button
                className="link"
                name="action"
                value="remove-topic"
                aria-label={`Remove the topic ${name}`}
              >
                Remove
              </button>
            </Form>
          </li>
        ))}
      </ul>
      <Form {...form} className="row">
        <input
          name="topic"
          defaultValue={isSent("add-topic") ? (sent?.get("topic") ?? "") : ""}
          required
          maxLength={100}
          aria-label="Topic to add"
        />
        <button name="action" value="add-topic">
          Add the topic
        </button>
      </Form>
      <Form {...form} className="inline">
        <button className="link" name="action" value="classify">
          Analyse again
        </button>
      </Form>
      <h2>Shared with</h2>
      {shares.length === 0 ? <p className="quiet">Nobody.</p> : null}
      <ul className="plain-list">
        {shares.map((each) => (
          <li key={each.id}>
            {each.recipient_handle}{" "}
            <span className="quiet">
              {each.permission === "view" ? "may look at it" : "may download it"}
            </span>{" "}
            <Form {...form} className="inline">
              <input type="hidden" name="share" value={each.id} />
              <input
                type="hidden"
                name="permission"
                value={each.permission === "view" ? "download" : "view"}
              />
              <button className="link" name="action" value="permission">
                {each.permission === "view" ? "Allow downloads" : "Forbid downloads"}
              </button>
              <button className="link" name="action" value="revoke">
                Revoke
              </button>
            </Form>
          </li>
        ))}
      </ul>
      {invitations}
      <Menu name="Share with a person" isOpen={isSent("share")}>
        <Form {...form} className="stack">
          <ShareFields recipient={sent?.get("recipient") ?? ""} />
          <div>
            <button name="action" value="share">
              Share
            </button>
          </div>
        </Form>
      </Menu>
      <Menu name="Share by a link" isOpen={isSent("link")}>
        <Form {...form} className="stack">
          <LinkFields />
          <label>
            Downloads at most
            <input name="max_downloads" inputMode="numeric" pattern="[0-9]+" />
          </label>
          <div>
            <button name="action" value="link">
              Make the link
            </button>
          </div>
        </Form>
      </Menu>
      <Menu name="Rename" isOpen={isSent("rename")}>
        <Form {...form} className="stack">
          <label>
            Name
            <input
              name="filename"
              defaultValue={sent?.get("filename") ?? filename}
              required
              maxLength={255}
            />
          </label>
          <div>
            <button name="action" value="rename">
              Rename
            </button>
          </div>
        </Form>
      </Menu>
    </>
  );
}

async function changeDocument(
  context: SignedInContext,
  { id }: { readonly id: string },
): Promise<VaultPageAnswer> {
  const { form } = context;
  const action = form.get("action") ?? "";
  const tried = await tryForm(() => runAction(context, id, action));
  if ("refusal" in tried) return showDocument(context, id, toText(tried.refusal));
  const next: Readonly<Record<string, string>> = { delete: HOME, link: LINKS };
  return { kind: "redirect", to: next[action] ?? toDocumentPath(id) };
}

async function runAction(
  { form, call, ...context }: SignedInContext,
  id: string,
  action: string,
): Promise<unknown> {
  const params = { document_id: id };
  const share = { share_id: form.get("share") ?? "" };
  const permission = form.get("permission") ?? "";
  switch (action) {
    case "rename": {
      const filename = form.get("filename") ?? "";
      return call(documentEndpoints.updateDocument, { params, body: { filename } });
    }
    case "add-topic": {
      const name = await ensureTopic({ ...context, form, call }, form.get("topic") ?? "");
      return setTopics(call, id, (topics) => [...topics, name]);
    }
    case "remove-topic":
      return setTopics(call, id, (topics) => topics.filter((name) => name !== form.get("topic")));
    case "classify":
      return call(documentEndpoints.classifyDocument, { params });
    case "share": {
      const recipient = (form.get("recipient") ?? "").trim();
      return shareWith(call, id, { recipient, permission });
    }
    case "uninvite": {
      const invitation = { invitation_id: form.get("invitation") ?? "" };
      return call(shareInvitationEndpoints.revokeInvitation, { params: invitation });
    }
    case "link":
      return createLink(call, form, { document_id: id });
    case "permission":
      return call(shareEndpoints.updateShare, { params: share, body: { permission } });
    case "revoke":
      return call(shareEndpoints.revokeShare, { params: share });
    case "delete": {
      const { body } = await call(documentEndpoints.deleteDocument, { params });
      if (body.success) return undefined;
      throw new AppError("unavailable", "The storage did not delete the file, so it is kept.");
    }
    default:
      throw new AppError("invalid_argument", "The page has no such form.");
  }
}

async function setTopics(
  call: Call,
  id: string,
  change: (topics: readonly string[]) => readonly string[],
): Promise<void> {
  const topics = [...new Set(change((await getDocument(call, id)).topics))];
  await call(documentEndpoints.updateDocument, { params: { document_id: id }, body: { topics } });
}
