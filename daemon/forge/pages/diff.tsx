import { Fragment, type ReactNode } from "react";
import type { ServerRequest } from "../../http/handle.ts";
import type { CallOperation, OperationInput } from "../../pages/operations.ts";
import { readText } from "../../pages/operations.ts";
import type { AnyEndpoint } from "../../contract/endpoint.ts";
import {
  type DiffHunk,
  type DiffLine,
  type FileDiff,
  markChanges,
  parseDiff,
  parseHunks,
} from "./diff-text.ts";

/** The longest diff that a page shows, in bytes. */
const DIFF_BYTES_MAX = 512 * 1024;
/** Lines of a file that is folded, and of all files that are shown unfolded. */
const FILE_LINES_MAX = 400;
const UNFOLDED_LINES_MAX = 4_000;
/** Lines whose parts are compared: each is an element of its own. */
const MARKED_LINES_MAX = 2_000;

/** How the diff of a page is shown, which its address says: `?style=split&whitespace=ignore-all`. */
export interface DiffStyle {
  readonly isSplit: boolean;
  readonly ignoresSpace: boolean;
}

const toDiffStyle = ({ query }: Pick<ServerRequest, "query">): DiffStyle => ({
  isSplit: query.get("style") === "split",
  ignoresSpace: query.get("whitespace") === "ignore-all",
});

/** A diff of a page. `isWhole` is false when it is longer than a page shows. */
export interface LoadedDiff {
  readonly files: readonly FileDiff[];
  readonly isWhole: boolean;
  readonly style: DiffStyle;
}

/** Reads a diff from an operation, with the white space that the address of the page asks for. */
export async function loadDiff(
  { call, request }: { readonly call: CallOperation; readonly request: ServerRequest },
  declared: AnyEndpoint,
  { query, ...input }: OperationInput,
): Promise<LoadedDiff> {
  const style = toDiffStyle(request);
  const whitespace = style.ignoresSpace ? "ignore-all" : "show-all";
  const wanted = { ...input, query: { ...query, whitespace } };
  const { text, isWhole } = await readText(call, declared, wanted, DIFF_BYTES_MAX);
  // A cut line would look like a changed one.
  const shown = isWhole ? text : text.slice(0, text.lastIndexOf("\n") + 1);
  return { files: parseDiff(shown), isWhole, style };
}

/** What a page adds to a diff. `index` counts the files from 0. */
export interface LineExtras {
  /** Content below a line, such as the comments on it. */
  readonly below?: (file: FileDiff, line: DiffLine, index: number) => ReactNode;
  /** Whether a file is shown unfolded however long it is. */
  readonly isOpen?: (file: FileDiff, index: number) => boolean;
  /** The address behind the number of a line. */
  readonly toHref?: (index: number, line: DiffLine) => string;
}

/** A diff with its list of files and the links to its other views. `more` are links to its other forms. */
export function Diff({
  diff: { files, isWhole, style },
  request,
  more,
  extras = {},
}: {
  diff: LoadedDiff;
  request: Pick<ServerRequest, "query">;
  more?: ReactNode;
  extras?: LineExtras;
}) {
  let lines = 0;
  const shown = files.map((file, index) => {
    const own = file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
    lines += own;
    const isShort = own <= FILE_LINES_MAX && lines <= UNFOLDED_LINES_MAX;
    return {
      file,
      id: `file-${index + 1}`,
      isOpen: isShort || extras.isOpen?.(file, index) === true,
      isMarked: lines <= MARKED_LINES_MAX,
      below: extras.below && ((line: DiffLine) => extras.below?.(file, line, index)),
      toHref: extras.toHref && ((line: DiffLine) => extras.toHref?.(index, line)),
    };
  });
  return (
    <>
      <div className="diff-tools">
        <FileSummary files={shown} />
        <p className="tools">
          <StyleLinks style={style} query={request.query} /> {more}
        </p>
      </div>
      {isWhole ? null : (
        <p className="notice">
          The diff is longer than a page shows: the last of these files may be incomplete, and
          further ones are missing. Download it, or use git diff in a clone.
        </p>
      )}
      {shown.map(({ file, id, isOpen, ...rest }) => (
        <details key={id} id={id} className="card file" open={isOpen}>
          <summary className="head">
            <h3>
              <bdi>{file.path}</bdi>
            </h3>{" "}
            <Counts file={file} />
            {file.notes.map((note) => (
              <span key={note} className="quiet">{` ${note}`}</span>
            ))}
          </summary>
          {file.hunks.length === 0 ? null : style.isSplit ? (
            <SplitHunks hunks={file.hunks} {...rest} />
          ) : (
            <UnifiedHunks hunks={file.hunks} {...rest} />
          )}
        </details>
      ))}
    </>
  );
}

function FileSummary({
  files,
}: {
  files: readonly { readonly file: FileDiff; readonly id: string }[];
}) {
  const sum = (of: (file: FileDiff) => number) =>
    files.reduce((total, { file }) => total + of(file), 0);
  const counts = {
    additions: sum((file) => file.additions),
    deletions: sum((file) => file.deletions),
  };
  if (files.length === 0) return <p className="quiet">No file differs.</p>;
  return (
    <details>
      <summary>
        {`${files.length} changed ${files.length === 1 ? "file" : "files"} `}
        <Counts file={counts} />
      </summary>
      <ul className="plain-list">
        {files.map(({ file, id }) => (
          <li key={id}>
            <a href={`#${id}`}>
              <bdi>{file.path}</bdi>
            </a>{" "}
            <Counts file={file} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function Counts({
  file: { additions, deletions },
}: {
  file: Pick<FileDiff, "additions" | "deletions">;
}) {
  return (
    <span className="counts">
      <span className="add">{`+${additions}`}</span> <span className="del">{`−${deletions}`}</span>
      <span className="unseen">{` (${additions} added, ${deletions} removed lines)`}</span>
    </span>
  );
}

function StyleLinks({ style, query }: { style: DiffStyle; query: URLSearchParams }) {
  const to = (name: string, value: string | undefined) => {
    const next = new URLSearchParams(query);
    // Those of the form on a line.
    for (const each of ["on", "suggest"]) next.delete(each);
    if (value === undefined) next.delete(name);
    else next.set(name, value);
    return `?${next}`;
  };
  return (
    <>
      <a href={to("style", style.isSplit ? undefined : "split")}>
        {style.isSplit ? "Unified view" : "Split view"}
      </a>{" "}
      <a href={to("whitespace", style.ignoresSpace ? undefined : "ignore-all")}>
        {style.ignoresSpace ? "Show white space" : "Hide white space"}
      </a>
    </>
  );
}

/** Links to the texts of a diff: `…/commit/SHA.diff` and `.patch`. */
export function TextLinks({ address }: { address: string }) {
  return (
    <>
      <a href={`${address}.diff`}>diff</a> <a href={`${address}.patch`}>patch</a>
    </>
  );
}

/** The lines of a hunk as a text of git. */
export function Hunks({ lines }: { lines: readonly string[] }) {
  return <UnifiedHunks hunks={parseHunks(lines)} isMarked={true} />;
}

type MarkedLines = ReturnType<typeof markChanges>;

interface ShownHunks {
  readonly hunks: readonly DiffHunk[];
  readonly isMarked: boolean;
  readonly below?: ((line: DiffLine) => ReactNode) | undefined;
  readonly toHref?: ((line: DiffLine) => string | undefined) | undefined;
}

function UnifiedHunks({ hunks, isMarked, below, toHref }: ShownHunks) {
  return hunks.map((hunk, at) => {
    const marked: MarkedLines = isMarked ? markChanges(hunk.lines) : new Map();
    return (
      <Fragment key={at}>
        <p className="hunk">{hunk.header}</p>
        {splitAfter(hunk.lines, below).map(({ lines, content }, part) => (
          <Fragment key={part}>
            <Columns
              numbers={[lines.map(({ before }) => before), lines.map(({ after }) => after)]}
              lines={lines}
              marked={marked}
              toHref={toHref}
            />
            {content}
          </Fragment>
        ))}
      </Fragment>
    );
  });
}

/** Splits lines after each that has content below it. */
function splitAfter(
  lines: readonly DiffLine[],
  below: ((line: DiffLine) => ReactNode) | undefined,
): readonly { readonly lines: readonly DiffLine[]; readonly content: ReactNode }[] {
  if (below === undefined) return [{ lines, content: null }];
  const parts: { lines: readonly DiffLine[]; content: ReactNode }[] = [];
  let start = 0;
  for (const [index, line] of lines.entries()) {
    const content = below(line) ?? null;
    if (content === null) continue;
    parts.push({ lines: lines.slice(start, index + 1), content });
    start = index + 1;
  }
  return [...parts, { lines: lines.slice(start), content: null }];
}

/** Columns of numbers beside lines. A column is one text, so that long diffs have few elements. */
function Columns({
  numbers,
  lines,
  marked,
  toHref,
}: {
  numbers: readonly (readonly (number | undefined)[])[];
  lines: readonly (DiffLine | undefined)[];
  marked: MarkedLines;
  toHref?: ShownHunks["toHref"];
}) {
  if (lines.length === 0) return null;
  return (
    <div className="diff">
      {numbers.map((column, at) =>
        toHref === undefined ? (
          <pre key={at} className="lines" aria-hidden="true">
            {column.map((number) => `${number ?? ""}\n`).join("")}
          </pre>
        ) : (
          <pre key={at} className="lines">
            {column.map((number, row) => toNumber(number, lines[row], row, toHref))}
          </pre>
        ),
      )}
      <pre className="text" tabIndex={0}>
        {toRuns(lines, marked).map(({ kind, content }, at) => (
          <span key={at} className={kind}>
            {content}
          </span>
        ))}
      </pre>
    </div>
  );
}

/** A number that leads to the form for a comment on its line. Of an unchanged line it is that of the new file. */
function toNumber(
  number: number | undefined,
  line: DiffLine | undefined,
  row: number,
  toHref: (line: DiffLine) => string | undefined,
): ReactNode {
  if (number === undefined || line === undefined || number !== (line.after ?? line.before))
    return `${number ?? ""}\n`;
  return (
    <Fragment key={row}>
      <a href={toHref(line)}>{number}</a>
      {"\n"}
    </Fragment>
  );
}

/** The signs at the beginning of lines. */
const SIGNS = { same: " ", add: "+", del: "-", note: "\\" } as const;

/** Joins neighbouring lines of one kind; a line with marked parts stays alone. */
function toRuns(lines: readonly (DiffLine | undefined)[], marked: MarkedLines) {
  const runs: { kind: string; content: ReactNode }[] = [];
  for (const line of lines) {
    const kind = line?.kind ?? "none";
    const parts = line && marked.get(line);
    const text = line === undefined ? "\n" : `${SIGNS[line.kind]}${line.text}\n`;
    const last = runs.at(-1);
    if (line !== undefined && parts !== undefined)
      runs.push({ kind, content: [SIGNS[line.kind], ...parts.map(toPart), "\n"] });
    else if (last?.kind === kind && typeof last.content === "string") last.content += text;
    else runs.push({ kind, content: text });
  }
  return runs;
}

const toPart = ({ text, isChanged }: { text: string; isChanged: boolean }, at: number) =>
  isChanged && text !== "" ? <b key={at}>{text}</b> : text;

function SplitHunks({ hunks, isMarked, below, toHref }: ShownHunks) {
  return hunks.map((hunk, at) => {
    const marked: MarkedLines = isMarked ? markChanges(hunk.lines) : new Map();
    const { left, right } = toSides(hunk.lines);
    return (
      <Fragment key={at}>
        <p className="hunk">{hunk.header}</p>
        <div className="split">
          <Columns
            numbers={[left.map((line) => line?.before)]}
            lines={left}
            marked={marked}
            toHref={toHref}
          />
          <Columns
            numbers={[right.map((line) => line?.after)]}
            lines={right}
            marked={marked}
            toHref={toHref}
          />
        </div>
        {below && hunk.lines.map((line, index) => <Fragment key={index}>{below(line)}</Fragment>)}
      </Fragment>
    );
  });
}

/** Puts removed lines beside the added ones that follow them; undefined fills the shorter side. */
function toSides(lines: readonly DiffLine[]) {
  const left: (DiffLine | undefined)[] = [];
  const right: (DiffLine | undefined)[] = [];
  const align = () => {
    while (left.length < right.length) left.push(undefined);
    while (right.length < left.length) right.push(undefined);
  };
  let last: DiffLine["kind"] = "same";
  for (const line of lines) {
    // Removed lines after added ones begin another change.
    if (line.kind === "del" && last === "add") align();
    if (line.kind === "del" || (line.kind === "note" && last === "del")) left.push(line);
    else if (line.kind === "add" || (line.kind === "note" && last === "add")) right.push(line);
    else {
      align();
      left.push(line);
      right.push(line);
    }
    if (line.kind !== "note") last = line.kind;
  }
  align();
  return { left, right };
}
