import { shareInvitationEndpoints } from "../../contract/vault/invitations.ts";
import { shareEndpoints } from "../../contract/vault/shares.ts";
import { topicEndpoints } from "../../contract/vault/topics.ts";
import { Form } from "../../pages/form.tsx";
import { toDocumentPath } from "./addresses.ts";
import type { SignedInContext } from "./vault-page.ts";

/** The newest invitations of an account, among which those of a document are looked for. */
const INVITATIONS_SHOWN = 100;

/** The fields of a share with a person. */
export function ShareFields({ recipient = "" }: { recipient?: string }) {
  return (
    <>
      <label>
        Handle or e-mail address of the person
        <input
          name="recipient"
          defaultValue={recipient}
          required
          maxLength={254}
          autoCapitalize="none"
          spellCheck={false}
        />
      </label>
      <label>
        The person may
        <select name="permission">
          <option value="view">look at it here</option>
          <option value="download">download it, too</option>
        </select>
      </label>
    </>
  );
}

/** Shows the e-mail addresses that a document waits for. */
export async function showInvitations(
  call: SignedInContext["call"],
  documentId: string,
  token: string,
) {
  const query = { per_page: String(INVITATIONS_SHOWN) };
  const { body } = await call(shareInvitationEndpoints.listInvitations, { query });
  const waiting = body.items.filter((each) => each.document_id === documentId);
  if (waiting.length === 0) return null;
  return (
    <ul className="plain-list">
      {waiting.map((each) => (
        <li key={each.id}>
          {each.recipient_email} <span className="quiet">has not accepted yet</span>{" "}
          <Form action={toDocumentPath(documentId)} token={token} className="inline">
            <input type="hidden" name="invitation" value={each.id} />
            <button className="link" name="action" value="uninvite">
              Revoke
            </button>
          </Form>
        </li>
      ))}
    </ul>
  );
}

/** Shares a document with a handle, or with an e-mail address, whose owner is invited. */
export function shareWith(
  call: SignedInContext["call"],
  documentId: string,
  { recipient, permission }: { readonly recipient: string; readonly permission: string },
): Promise<unknown> {
  const body = { document_id: documentId, permission };
  return recipient.includes("@")
    ? call(shareInvitationEndpoints.createInvitation, {
        body: { ...body, recipient_email: recipient },
      })
    : call(shareEndpoints.createShare, { body: { ...body, recipient_handle: recipient } });
}

/** Returns the name of a topic as it is stored; makes one of the caller's own when there is none. */
export async function ensureTopic({ call }: SignedInContext, typed: string): Promise<string> {
  const name = typed.trim();
  const { body } = await call(topicEndpoints.listTopics);
  const found = body.items.find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (found !== undefined) return found.name;
  return (await call(topicEndpoints.createTopic, { body: { name } })).body.name;
}
