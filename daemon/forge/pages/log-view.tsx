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

/** Where the script of the page asks for further rows, and what the page shows. */
export interface FollowedLog {
  readonly path: string;
  readonly state: string;
  /** The number of the first row that is not shown. */
  readonly next: number;
}

/** The attributes by which the script follows what an address says of a state. */
export const toFollowed = (followed: FollowedLog | undefined) =>
  followed === undefined
    ? {}
    : {
        "data-follow": followed.path,
        "data-state": followed.state,
        "data-next": followed.next,
      };

/** The log of a job with its groups folded; with `q`, only the rows that have the text. */
export function LogView({
  text,
  q,
  followed,
}: {
  text: string;
  q: string;
  /** Set while rows may follow. */
  followed?: FollowedLog | undefined;
}) {
  if (text !== "" && q !== "") return <FoundRows text={text} q={q} />;
  const parts = text === "" ? [] : toLogParts(text);
  const isInGroup = lastCommandOf(text) === "group";
  return (
    <div {...toFollowed(followed)} data-in-group={isInGroup ? "yes" : "no"}>
      {parts.map((part, at) =>
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
    </div>
  );
}

/** Returns the last command about groups. */
const lastCommandOf = (text: string) =>
  stripVTControlCharacters(text)
    .split(/\r?\n/)
    .map((row) => COMMAND.exec(row)?.[1])
    .findLast((command) => command !== undefined);

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
