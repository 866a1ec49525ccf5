import { createContext, Fragment, type ReactNode, useContext } from "react";
import { COLOURED_LINE_MAX } from "../rendering/document.ts";

/** Sanitized HTML of the rendering service, or the plain text when it could not be rendered. */
export function Rendered({ html, text }: { html: string | undefined; text: string }) {
  if (html === undefined) return <pre className="plain">{text}</pre>;
  // Code and wide tables scroll sideways, so they need keyboard focus. The sanitizer closes every element and leaves no
  // `<` in texts and attributes.
  const focusable = html
    .replace(/<pre(?=[\s>])/g, '<pre tabindex="0"')
    .replace(/<table(?=[\s>])/g, '<div class="scroll" tabindex="0"><table')
    .replaceAll("</table>", "</table></div>")
    .replaceAll(
      '<input type="checkbox" disabled=""',
      '<input aria-label="Task" type="checkbox" disabled=""',
    );
  // Only HTML of the rendering service, which sanitizes it, comes here
  return <div className="markup" dangerouslySetInnerHTML={{ __html: focusable }} />;
}

/** The time of the response in epoch milliseconds; undefined where times are shown exactly. */
export const Now = createContext<number | undefined>(undefined);

/** A time of the wire: how long ago it was, with the exact time in UTC as its title. */
export function Time({ at }: { at: string }) {
  const now = useContext(Now);
  const exact = `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
  return (
    <time dateTime={at} title={exact}>
      {now === undefined ? exact : toRelativeTime(at, now)}
    </time>
  );
}

const units = [
  ["minute", 60_000],
  ["hour", 3_600_000],
  ["day", 86_400_000],
] as const;
/** A time farther away is shown as its date. */
const RELATIVE_DAYS_MAX = 30;

/**
 * Returns a time in relation to `now`: `just now`, `5 minutes ago`, `in 2 days`, or the date when it is more than 30 days
 * away.
 */
export function toRelativeTime(at: string, now: number): string {
  const difference = Date.parse(at) - now;
  const distance = Math.abs(difference);
  if (!(distance <= RELATIVE_DAYS_MAX * 86_400_000)) return at.slice(0, 10);
  const [unit, length] = units.findLast(([, each]) => distance >= each) ?? [];
  if (unit === undefined) return "just now";
  const count = Math.floor(distance / length);
  const text = `${count} ${unit}${count === 1 ? "" : "s"}`;
  return difference < 0 ? `${text} ago` : `in ${text}`;
}

/** `1 commit`, `1,024 commits` */
export const toCount = (count: number, noun: string) =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;

/** `13,285 bytes` */
export function toBytesText(bytes: number): string {
  return toCount(bytes, "byte");
}

/** Shows a state (open, closed, success, failure) as a word; the colour repeats it. */
export function State({ word }: { word: string }) {
  return <span className={`state ${toTone(word)}`}>{word.replaceAll("_", " ")}</span>;
}

/** Links to the previous and the next page; empty for a list of one page. */
export function Pager({
  page,
  limit,
  total,
  query,
}: {
  page: number;
  limit: number;
  total: number;
  query: URLSearchParams;
}) {
  const last = Math.max(1, Math.ceil(total / limit));
  if (last === 1) return null;
  const to = (number: number) => {
    const next = new URLSearchParams(query);
    next.set("page", String(number));
    return `?${next}`;
  };
  return (
    <nav className="pager" aria-label="Pages">
      {page > 1 ? (
        <a rel="prev" href={to(page - 1)}>
          Previous
        </a>
      ) : null}
      <span>{`Page ${page} of ${last}`}</span>
      {page < last ? (
        <a rel="next" href={to(page + 1)}>
          Next
        </a>
      ) : null}
    </nav>
  );
}

function toTone(word: string): string {
  if (["open", "success"].includes(word)) return "good";
  if (["failure", "error"].includes(word)) return "bad";
  return "plain-state";
}

/** A refusal or failure, which screen readers announce; empty without one. */
export function Alert({ text }: { text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p className="error" role="alert">
      {text}
    </p>
  );
}

/** The sentence in the place of a list without entries, and the command that adds one. */
export function EmptyState({ children, command }: { children: ReactNode; command?: string }) {
  return (
    <div className="empty">
      <p>{children}</p>
      {command === undefined ? null : (
        <p>
          <code data-copy="">{command}</code>
        </p>
      )}
    </div>
  );
}

/** One of several views of the same thing. */
export interface Tab {
  readonly key: string;
  readonly text: ReactNode;
  readonly href: string;
  /** The keys that open it, for the script of the site. */
  readonly keys?: string;
}

/** Links to views, of which one is shown. `label` names the choice for screen readers. */
export function Tabs({
  label,
  tabs,
  current,
}: {
  label: string;
  tabs: readonly Tab[];
  current: string;
}) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ key, text, href, keys }) => (
        <a
          key={key}
          href={href}
          aria-current={key === current ? "page" : undefined}
          data-keys={keys}
        >
          {text}
        </a>
      ))}
    </nav>
  );
}

/** Names with their values, such as the properties of an issue. A row without a value is left out. */
export function Facts({ rows }: { rows: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl>
      {rows
        .filter(([, value]) => value !== undefined && value !== null && value !== "")
        .map(([name, value], at) => (
          <Fragment key={at}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  );
}

/** A table that scrolls sideways where it is too wide. `label` names it for screen readers. */
export function Table({
  label,
  columns,
  rows,
}: {
  label: string;
  columns: readonly string[];
  rows: readonly { readonly key: string; readonly cells: readonly ReactNode[] }[];
}) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, at) => (
                <td key={at}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Content that opens below its name, without a script. */
export function Menu({
  name,
  className,
  isOpen,
  children,
}: {
  name: ReactNode;
  className?: string;
  isOpen?: boolean;
  children: ReactNode;
}) {
  return (
    <details className={className} open={isOpen}>
      <summary>{name}</summary>
      {children}
    </details>
  );
}

/** A file or folder of a list. */
export interface FileEntry {
  readonly name: string;
  readonly href: string;
  /** Kind or size. */
  readonly note: ReactNode;
}

/** Files and folders. `label` names the list for screen readers where no heading does. */
export function FileList({ label, entries }: { label?: string; entries: readonly FileEntry[] }) {
  return (
    <ul className="list" aria-label={label}>
      {entries.map(({ name, href, note }) => (
        <li key={href}>
          <a href={href}>
            <bdi>{name}</bdi>
          </a>{" "}
          <span className="quiet">{note}</span>
        </li>
      ))}
    </ul>
  );
}

/** Maximum number of lines of a text that is shown with line numbers. */
const NUMBERED_LINES_MAX = 5_000;

/** A text with line numbers, which are link targets as in Gitea: `#L12`. */
export function Code({ html, text }: { html: string | undefined; text: string }) {
  const count = text.replace(/\n$/, "").split("\n").length;
  const numbers = Array.from(
    { length: count <= NUMBERED_LINES_MAX ? count : 0 },
    (_, at) => at + 1,
  );
  const reason = findPlainReason(html, text);
  return (
    <>
      {reason === undefined ? null : <p className="content quiet">{reason}</p>}
      <div className="code">
        {numbers.length === 0 ? null : (
          <pre className="lines" aria-hidden="true">
            {numbers.map((number) => (
              <span key={number}>
                <a id={`L${number}`} href={`#L${number}`} tabIndex={-1}>
                  {number}
                </a>
                {"\n"}
              </span>
            ))}
          </pre>
        )}
        <Rendered html={html} text={text} />
      </div>
    </>
  );
}

/** Returns why a text has no colours, if a limit is the reason. */
function findPlainReason(html: string | undefined, text: string): string | undefined {
  if (html === undefined)
    return "The text has no colours: they would take too long, or the server is busy.";
  const isPlain = !html.includes("<span class=");
  return isPlain && text.split("\n").some(({ length }) => length > COLOURED_LINE_MAX)
    ? `The text has no colours: a line is longer than ${toCount(COLOURED_LINE_MAX, "character")}.`
    : undefined;
}
