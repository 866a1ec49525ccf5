import type { ReactNode } from "react";
import type { z } from "zod";
import type { document } from "../../contract/vault/documents.ts";
import { Form } from "../../pages/form.tsx";
import { CHOSEN, toDocumentPath, toTopicPath } from "./addresses.ts";
import { Day, Name, Status, toKind, toSizeText } from "./elements.tsx";

/** A document of a list. */
export type WireDocument = Omit<z.output<typeof document>, "extracted_text">;

/** Maximum number of documents that are changed at once. */
export const CHOICES_MAX = 100;

/** Documents with boxes, and what can be done with the chosen ones. */
export function Selection({
  token,
  back,
  children,
}: {
  token: string;
  back: string;
  children: ReactNode;
}) {
  return (
    <Form action={CHOSEN} token={token} className="selection">
      <input type="hidden" name="back" value={back} />
      <div className="actions" role="group" aria-label="With the chosen documents">
        <label className="check" data-choose-all hidden>
          <input type="checkbox" /> All
        </label>
        {CHOICES.map(([value, text]) => (
          <button key={value} type="submit" name="action" value={value}>
            {text}
          </button>
        ))}
        <span className="quiet" data-chosen data-max={CHOICES_MAX} role="status" />
      </div>
      {children}
    </Form>
  );
}

const CHOICES = [
  ["download", "Download"],
  ["topics", "Topics"],
  ["share", "Share"],
  ["link", "Link"],
  ["delete", "Delete"],
] as const;

export function DocumentTable({ documents }: { documents: readonly WireDocument[] }) {
  return (
    <table className="documents">
      <thead>
        <tr>
          <th>
            <span className="unseen">Choose</span>
          </th>
          <th>Name</th>
          <th className="wide">Topics</th>
          <th className="wide">Kind</th>
          <th className="number">Size</th>
          <th className="wide">Added</th>
        </tr>
      </thead>
      <tbody data-rows>
        {documents.map((each) => (
          <tr key={each.id} data-row>
            <td>
              <Choose id={each.id} name={each.filename} />
            </td>
            <td>
              <DocumentLink document={each} /> <Status id={each.id} status={each.status} />
            </td>
            <td className="wide">
              <Topics names={each.topics} />
            </td>
            <td className="wide">{toKind(each.content_type)}</td>
            <td className="number">{toSizeText(each.size_bytes)}</td>
            <td className="wide">
              <Day at={each.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Choose({ id, name }: { id: string; name: string }) {
  return <input type="checkbox" name="id" value={id} aria-label={`Choose ${name}`} />;
}

export function DocumentLink({ document: { id, filename } }: { document: WireDocument }) {
  return (
    <a href={toDocumentPath(id)} data-open>
      <Name>{filename}</Name>
    </a>
  );
}

export function Topics({ names }: { names: readonly string[] }) {
  return names.map((name) => (
    <a key={name} className="label" href={toTopicPath(name)}>
      <Name>{name}</Name>
    </a>
  ));
}
