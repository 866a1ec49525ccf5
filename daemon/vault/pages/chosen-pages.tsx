import type { ReactNode } from "react";
import { documentEndpoints } from "../../contract/vault/documents.ts";
import { topicEndpoints } from "../../contract/vault/topics.ts";
import { AppError } from "../../errors.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import { Form } from "../../pages/form.tsx";
import type { CallOperation } from "../../pages/operations.ts";
import { createZip, type ZipEntry } from "../../utilities/zip.ts";
import { toContentDisposition } from "../cloud/bytes/content-disposition.ts";
import { ensureTopic, ShareFields, shareWith } from "./document-forms.tsx";
import { CHOICES_MAX, type WireDocument } from "./document-list.tsx";
import { createLink, LinkFields } from "./link-pages.tsx";
import { Hidden, Name, toConfirmation, toSizeText } from "./elements.tsx";
import { CHOSEN, LINKS, toVaultPath } from "./addresses.ts";
import {
  type SignedInContext,
  submit,
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "./vault-page.ts";

interface Chosen {
  readonly context: SignedInContext;
  readonly documents: readonly WireDocument[];
  /** The page to return to. */
  readonly back: string;
}

/** What is done with several documents: a first form chooses them, a second one has the details and `done`. */
export const chosenPage: VaultPageRoute = submit(CHOSEN, async (context) => {
  const { form } = context;
  const ids = [...new Set(form.getAll("id"))];
  const back = toVaultPath(form.get("back"));
  if (ids.length === 0) return { kind: "redirect", to: back };
  if (ids.length > CHOICES_MAX)
    throw new AppError("too_large", `At most ${CHOICES_MAX} documents can be chosen at once.`);
  const documents = await Promise.all(ids.map((id) => findDocument(context.call, id)));
  const chosen = { context, documents, back };
  const isDone = form.get("done") === "yes";
  switch (form.get("action")) {
    case "download":
      return { kind: "file", answer: toZip(chosen) };
    case "topics":
      return isDone ? addTopic(chosen) : askTopic(chosen);
    case "share":
      return isDone ? share(chosen) : askRecipient(chosen);
    case "link":
      return isDone ? makeLink(chosen) : askLink(chosen);
    case "delete":
      return isDone ? remove(chosen) : askDeletion(chosen);
    default:
      return { kind: "redirect", to: back };
  }
});

async function findDocument(call: CallOperation, id: string): Promise<WireDocument> {
  return (await call(documentEndpoints.getDocument, { params: { document_id: id } })).body;
}

/** An archive of all documents, opened one by one while it is sent. */
function toZip({ context: { call }, documents }: Chosen): BytesAnswer {
  const entries = documents.map(({ id, filename, updated_at: updatedAt }): ZipEntry => ({
    name: filename,
    modifiedAt: Date.parse(updatedAt),
    async open() {
      const { bytes } = (await call(documentEndpoints.getDocumentContent, {
        params: { document_id: id },
      })) as unknown as BytesAnswer;
      try {
        const stream = await bytes.open();
        stream.once("close", () => bytes.release?.());
        return { stream, size: bytes.size };
      } catch (error) {
        bytes.release?.();
        throw error;
      }
    },
  }));
  return {
    status: 200,
    headers: { "Content-Disposition": toContentDisposition("documents.zip") },
    bytes: {
      size: undefined,
      contentType: "application/zip",
      etag: undefined,
      lastModified: undefined,
      open: async () => createZip(entries),
    },
  };
}

const toFields = ({ documents, back }: Chosen, action: string) => [
  ["action", action] as const,
  ["done", "yes"] as const,
  ["back", back] as const,
  ...documents.map(({ id }) => ["id", id] as const),
];

const toTitle = (verb: string, { documents: { length } }: Chosen) =>
  `${verb} ${length} ${length === 1 ? "document" : "documents"}`;

function Names({ documents }: Pick<Chosen, "documents">) {
  return (
    <ul className="list">
      {documents.map(({ id, filename, size_bytes: size }) => (
        <li key={id}>
          <Name>{filename}</Name> <span className="quiet">{toSizeText(size)}</span>
        </li>
      ))}
    </ul>
  );
}

function ask(
  chosen: Chosen,
  {
    action,
    verb,
    submit: button,
    fields,
    problem,
  }: {
    readonly action: string;
    readonly verb: string;
    readonly submit: string;
    readonly fields: ReactNode;
    readonly problem?: string | undefined;
  },
): VaultPageAnswer {
  const title = toTitle(verb, chosen);
  return {
    kind: "page",
    title,
    status: problem === undefined ? 200 : 422,
    body: (
      <>
        <h1>{title}</h1>
        {problem === undefined ? null : (
          <p className="error" role="alert">
            {problem}
          </p>
        )}
        <Names documents={chosen.documents} />
        <Form action={CHOSEN} token={chosen.context.session.formToken} className="stack">
          <Hidden fields={toFields(chosen, action)} />
          {fields}
          <div>
            <button type="submit" className="primary">
              {button}
            </button>{" "}
            <a href={chosen.back}>Cancel</a>
          </div>
        </Form>
      </>
    ),
  };
}

async function askTopic(chosen: Chosen, problem?: string): Promise<VaultPageAnswer> {
  const { body } = await chosen.context.call(topicEndpoints.listTopics);
  return ask(chosen, {
    action: "topics",
    verb: "Give a topic to",
    submit: "Give the topic",
    problem,
    fields: (
      <label>
        Topic; a new name makes a topic of your own
        <input name="topic" list="topics" required maxLength={100} />
        <datalist id="topics">
          {body.items.map(({ id, name }) => (
            <option key={id} value={name} />
          ))}
        </datalist>
      </label>
    ),
  });
}

async function addTopic(chosen: Chosen): Promise<VaultPageAnswer> {
  const { context, documents } = chosen;
  const tried = await tryForm(() => ensureTopic(context, context.form.get("topic") ?? ""));
  if ("refusal" in tried) return askTopic(chosen, toText(tried.refusal));
  const name = tried.result;
  return finish(
    chosen,
    documents.map((document) => () => {
      const topics = [...new Set([...document.topics, name])];
      const params = { document_id: document.id };
      return context.call(documentEndpoints.updateDocument, { params, body: { topics } });
    }),
  );
}

function askRecipient(chosen: Chosen, problem?: string): VaultPageAnswer {
  return ask(chosen, {
    action: "share",
    verb: "Share",
    submit: "Share",
    problem,
    fields: <ShareFields recipient={chosen.context.form.get("recipient") ?? ""} />,
  });
}

async function share(chosen: Chosen): Promise<VaultPageAnswer> {
  const { context, documents } = chosen;
  const { form, call } = context;
  const to = {
    recipient: (form.get("recipient") ?? "").trim(),
    permission: form.get("permission") ?? "",
  };
  const [first, ...rest] = documents;
  const createShare = ({ id }: WireDocument) => shareWith(call, id, to);
  // The first one tells a mistyped handle, before any document is shared.
  const tried =
    first &&
    (await tryForm(
      () => createShare(first),
      ["not_found", "unprocessable", "invalid_argument", "forbidden"],
    ));
  if (tried !== undefined && "refusal" in tried) return askRecipient(chosen, toText(tried.refusal));
  return finish(
    { ...chosen, documents: rest },
    rest.map((each) => () => createShare(each)),
  );
}

function askLink(chosen: Chosen, problem?: string): VaultPageAnswer {
  return ask(chosen, {
    action: "link",
    verb: "Make a link to",
    submit: "Make the link",
    problem,
    fields: <LinkFields />,
  });
}

async function makeLink(chosen: Chosen): Promise<VaultPageAnswer> {
  const { context, documents } = chosen;
  const ids = documents.map(({ id }) => id);
  const target = ids.length === 1 ? { document_id: ids[0] } : { document_ids: ids };
  const tried = await tryForm(() => createLink(context.call, context.form, target));
  return "refusal" in tried
    ? askLink(chosen, toText(tried.refusal))
    : { kind: "redirect", to: LINKS };
}

function askDeletion(chosen: Chosen): VaultPageAnswer {
  return toConfirmation({
    title: `${toTitle("Delete", chosen)}?`,
    children: (
      <>
        <p>They go to the trash.</p>
        <Names documents={chosen.documents} />
      </>
    ),
    action: CHOSEN,
    token: chosen.context.session.formToken,
    fields: toFields(chosen, "delete"),
    submit: "Delete",
    back: chosen.back,
  });
}

function remove(chosen: Chosen): Promise<VaultPageAnswer> {
  const { context, documents } = chosen;
  return finish(
    chosen,
    documents.map(({ id }) => async () => {
      const params = { document_id: id };
      const { body } = await context.call(documentEndpoints.deleteDocument, { params });
      if (!body.success)
        throw new AppError("unavailable", "The storage did not delete the file. It is kept.");
    }),
  );
}

/** Does the work for each document in turn, and shows the documents for which it failed. */
async function finish(
  { documents, back }: Chosen,
  works: readonly (() => Promise<unknown>)[],
): Promise<VaultPageAnswer> {
  const failed: { readonly document: WireDocument | undefined; readonly text: string }[] = [];
  for (const [at, work] of works.entries()) {
    const tried = await tryForm(work, [...FAILURES]);
    if ("refusal" in tried) failed.push({ document: documents[at], text: toText(tried.refusal) });
  }
  if (failed.length === 0) return { kind: "redirect", to: back };
  return {
    kind: "page",
    title: "Not all succeeded",
    status: 409,
    body: (
      <>
        <h1>{`${works.length - failed.length} of ${works.length} succeeded`}</h1>
        <ul className="list">
          {failed.map(({ document, text }) => (
            <li key={document?.id}>
              <Name>{document?.filename ?? ""}</Name>: {text}
            </li>
          ))}
        </ul>
        <p>
          <a href={back}>Back</a>
        </p>
      </>
    ),
  };
}

const FAILURES = [
  "conflict",
  "not_found",
  "unavailable",
  "provider_failed",
  "unprocessable",
  "forbidden",
] as const;
