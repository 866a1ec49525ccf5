import { stripVTControlCharacters } from "node:util";
import { Alert } from "../../pages/elements.tsx";

/** Maximum number of rows of a log that a search shows. */
const FOUND_MAX = 500;

/** A row of a log, or the rows between `::group::` and `::endgroup::`. */
type LogPart =
  | { readonly kind: "rows"; readonly rows: readonly string[] }
  | { readonly kind: "group"; readonly name: string; readonly rows: readonly string[] };

/** A command of a job within its log, after the time of the row. */
const COMMAND = /^(?:\d{4}-\d\d-\d\dT[\d:.]+Z? ?)?(?:::|##\[)(group|endgroup)(?:::|\])(.*)$/;

/** Splits a log at the groups of its rows. A group without an end reaches to the next one, or to the end of the log. */
export function toLogParts(text: string): readonly LogPart[] {
  const parts: { name: string | undefined; rows: string[] }[] = [{ name: undefined, rows: [] }];
  for (const row of stripVTControlCharacters(text).replace(/\n$/, "").split(/\r?\n/)) {
    const [, command, name = ""] = COMMAND.exec(row) ?? [];
    if (command === undefined) parts.at(-1)?.rows.push(row);
    else parts.push({ name: command === "group" ? name : undefined, rows: [] });
  }
  return parts
    .filter(({ name, rows }) => name !== undefined || rows.length > 0)
    .map(({ name, rows }) =>
      name === undefined ? { kind: "rows", rows } : { kind: "group", name, rows },
    );
}

/** The log of a job with its groups folded; with `q`, only the rows that have the text. */
export function LogView({ text, q }: { text: string; q: string }) {
  if (text === "") return null;
  if (q !== "") return <FoundRows text={text} q={q} />;
  return (
    <>
      {toLogParts(text).map((part, at) =>
        part.kind === "rows" ? (
          <pre key={at} tabIndex={0}>
            {part.rows.join("\n")}
          </pre>
        ) : (
          <details key={at}>
            <summary>{part.name.trim() === "" ? "Group" : part.name}</summary>
            <pre tabIndex={0}>{part.rows.join("\n")}</pre>
          </details>
        ),
      )}
    </>
  );
}

function FoundRows({ text, q }: { text: string; q: string }) {
  const wanted = q.toLowerCase();
  const rows = stripVTControlCharacters(text).split(/\r?\n/);
  const found = rows.filter((row) => row.toLowerCase().includes(wanted));
  if (found.length === 0) return <Alert text={`No row of the log has ${q}.`} />;
  return (
    <>
      <p>{`${found.length} of ${rows.length} rows`}</p>
      <pre tabIndex={0}>{found.slice(0, FOUND_MAX).join("\n")}</pre>
    </>
  );
}
