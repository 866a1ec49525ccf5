import type { ReactNode } from "react";
import { Form } from "../../pages/form.tsx";
import type { VaultPageAnswer } from "./vault-page.ts";

const UNITS = ["KB", "MB", "GB", "TB", "PB"] as const;

/** `1.4 MB`; units are powers of a thousand. */
export function toSizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const power = Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length);
  const value = bytes / 1000 ** power;
  return `${value.toFixed(value < 10 ? 1 : 0)} ${UNITS[power - 1] ?? ""}`;
}

/** A name that somebody chose: its direction does not change that of the text around it. */
export function Name({ children }: { children: string }) {
  return <bdi>{children}</bdi>;
}

/** A day in UTC, in lists; the whole time is its title. */
export function Day({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at}>
      {at.slice(0, 10)}
    </time>
  );
}

const kinds: readonly (readonly [RegExp, string])[] = [
  [/^image\//, "Picture"],
  [/^audio\//, "Audio"],
  [/^video\//, "Video"],
  [/pdf$/, "PDF"],
  [/zip|tar|compressed/, "Archive"],
  [/spreadsheet|excel|csv$/, "Table"],
  [/presentation|powerpoint/, "Slides"],
  [/word|opendocument\.text|rtf$/, "Text"],
  [/^message\//, "Mail"],
  [/html$/, "HTML"],
  [/^text\/markdown/, "Markdown"],
  [/^text\//, "Text"],
  [/json|xml|javascript/, "Code"],
];

/** The kind of a file in a word. */
export function toKind(contentType: string | null): string {
  return kinds.find(([pattern]) => pattern.test(contentType ?? ""))?.[1] ?? "File";
}

const statuses: Readonly<Record<string, string>> = {
  pending: "waits for analysis",
  processing: "is being analysed",
  classification_failed: "analysis failed",
};

/** The state of an analysis; nothing once it is ready. The script watches one that goes on. */
export function Status({ id, status }: { id: string; status: string }) {
  const text = statuses[status];
  if (text === undefined) return null;
  const isOver = status === "classification_failed";
  return (
    <span
      className={isOver ? "state bad" : "state"}
      data-watch={isOver ? undefined : id}
      role="status"
    >
      {text}
    </span>
  );
}

/** The parts of a text that a search found. `marks` are UTF-16 offsets. */
export function Passage({
  text,
  marks,
}: {
  text: string;
  marks: readonly (readonly [number, number])[];
}) {
  const parts: ReactNode[] = [];
  let from = 0;
  for (const [start, end] of marks) {
    parts.push(text.slice(from, start), <mark key={start}>{text.slice(start, end)}</mark>);
    from = end;
  }
  return (
    <p className="passage" dir="auto">
      {parts}
      {text.slice(from)}
    </p>
  );
}

/** A question before something that cannot be undone, as a page of its own: it works without a script. */
export function toConfirmation({
  title,
  children,
  action,
  token,
  fields,
  submit,
  back,
}: {
  title: string;
  children: ReactNode;
  action: string;
  token: string;
  fields: readonly (readonly [name: string, value: string])[];
  submit: string;
  back: string;
}): VaultPageAnswer {
  return {
    kind: "page",
    title,
    body: (
      <>
        <h1>{title}</h1>
        {children}
        <Form action={action} token={token} className="inline">
          <Hidden fields={fields} />
          <button type="submit" className="danger">
            {submit}
          </button>
        </Form>{" "}
        <a href={back}>Cancel</a>
      </>
    ),
  };
}

/** Fields that the form keeps. */
export function Hidden({
  fields,
}: {
  fields: readonly (readonly [name: string, value: string])[];
}) {
  return fields.map(([name, value], at) => (
    <input key={at} type="hidden" name={name} value={value} />
  ));
}

/** The details of an event in one line. */
export const toDetails = (metadata: Readonly<Record<string, unknown>>) =>
  Object.entries(metadata)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
