import type { WireUser } from "../../contract/forge/accounts/users.ts";
import type { WireLabel } from "../../contract/forge/issues/labels.ts";
import { Tabs } from "../../pages/elements.tsx";
import { toPath } from "../../pages/page.ts";

/** Returns the path of a picture, to which the page adds that of the public URL. */
export const toPicturePath = (url: string) => url.slice(Math.max(0, url.lastIndexOf("/avatars/")));

export function UserLink({ user }: { user: Pick<WireUser, "id" | "login"> | null }) {
  if (user === null) return <span>unknown</span>;
  // A deleted account has a placeholder without a page.
  return user.id < 0 ? <span>{user.login}</span> : <a href={toPath(user.login)}>{user.login}</a>;
}

/**
 * The author of a text. That of another server has no account here unless a site administrator imported the text: then the
 * name there is shown as a text, with the person who imported it.
 */
export function Author({
  user,
  original,
}: {
  user: Pick<WireUser, "id" | "login"> | null;
  /** The name at the place from which the text was imported; empty for one that was written here. */
  original: string;
}) {
  if (original === "" || original.toLowerCase() === user?.login.toLowerCase())
    return <UserLink user={user} />;
  return (
    <>
      <bdi>{original}</bdi>{" "}
      <span className="quiet">
        (imported by <UserLink user={user} />)
      </span>
    </>
  );
}

/** A label. Its colour is a shape beside the name, so that every name has the contrast of the page. */
export function Label({
  label,
  href,
}: {
  label: Pick<WireLabel, "name" | "color">;
  /** The list of what has the label. */
  href?: string;
}) {
  const content = (
    <>
      <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
        <circle cx="5" cy="5" r="5" fill={`#${label.color}`} />
      </svg>
      <bdi>{label.name}</bdi>
    </>
  );
  return href === undefined ? (
    <span className="label">{content}</span>
  ) : (
    <a className="label" href={href}>
      {content}
    </a>
  );
}

/** The views of an account. */
export function OwnerTabs({
  owner,
  current,
}: {
  owner: string;
  current: "repositories" | "packages";
}) {
  return (
    <Tabs
      label="Owner"
      tabs={[
        { key: "repositories", text: "Repositories", href: toPath(owner) },
        { key: "packages", text: "Packages", href: toPath(owner, "-", "packages") },
      ]}
      current={current}
    />
  );
}

/** Links to the open, the closed and all issues or pull requests. `kept` stays in the address. */
export function StateTabs({
  current,
  kept,
}: {
  current: string;
  kept: Readonly<Record<string, string>>;
}) {
  return (
    <Tabs
      label="State"
      tabs={["open", "closed", "all"].map((word) => ({
        key: word,
        text: word.replace(/^./, (letter) => letter.toUpperCase()),
        href: `?${new URLSearchParams({ state: word, ...kept })}`,
      }))}
      current={current}
    />
  );
}
