import type { ReactNode } from "react";
import type { WireUser } from "../../contract/forge/accounts/users.ts";
import type { WireLabel } from "../../contract/forge/issues/labels.ts";
import { toPath } from "./page.ts";

/** Sanitized HTML of the rendering service, or the plain text when it could not be rendered. */
export function Rendered({ html, text }: { html: string | undefined; text: string }) {
  if (html === undefined) return <pre className="plain">{text}</pre>;
  // Code and wide tables scroll sideways, so they need keyboard focus. The sanitizer closes every element and leaves no
  // `<` in texts and attributes.
  const focusable = html
    .replace(/<pre(?=[\s>])/g, '<pre tabindex="0"')
    .replace(/<table(?=[\s>])/g, '<div class="scroll" tabindex="0"><table')
    .replaceAll("</table>", "</table></div>");
  // Only HTML of the rendering service, which sanitizes it, comes here
  return <div className="markup" dangerouslySetInnerHTML={{ __html: focusable }} />;
}

/** A time of the wire, to the minute and in UTC. */
export function Time({ at }: { at: string }) {
  return <time dateTime={at}>{`${at.slice(0, 10)} ${at.slice(11, 16)} UTC`}</time>;
}

/** `13,285 bytes` */
export function toBytesText(bytes: number): string {
  return `${bytes.toLocaleString("en-US")} ${bytes === 1 ? "byte" : "bytes"}`;
}

export function UserLink({ user }: { user: Pick<WireUser, "id" | "login"> | null }) {
  if (user === null) return <span>unknown</span>;
  // A deleted account has a placeholder without a page.
  return user.id < 0 ? <span>{user.login}</span> : <a href={toPath(user.login)}>{user.login}</a>;
}

/** A label. Its colour is a shape beside the name, so that every name has the contrast of the page. */
export function Label({ label }: { label: Pick<WireLabel, "name" | "color"> }) {
  return (
    <span className="label">
      <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
        <circle cx="5" cy="5" r="5" fill={`#${label.color}`} />
      </svg>
      {label.name}
    </span>
  );
}

/** Shows a state (open, closed, success, failure) as a word; the colour repeats it. */
export function State({ word }: { word: string }) {
  return <span className={`state ${toTone(word)}`}>{word}</span>;
}

function toTone(word: string): string {
  if (["open", "success"].includes(word)) return "good";
  if (["failure", "error"].includes(word)) return "bad";
  return "plain-state";
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

/** A form of this session, with the token against cross-site requests. */
export function Form({
  action,
  token,
  className,
  children,
}: {
  action: string;
  token: string | undefined;
  className?: string;
  children: ReactNode;
}) {
  return (
    <form method="post" action={action} className={className}>
      {token === undefined ? null : <input type="hidden" name="form_token" value={token} />}
      {children}
    </form>
  );
}
