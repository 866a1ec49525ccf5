import type { ReactNode } from "react";
import type { VaultLink } from "../../../storage/tables/vault/links.ts";
import { Alert, toBytesText } from "../../pages/elements.tsx";
import { createStandalonePage, type StandalonePage } from "../../pages/standalone-page.tsx";
import { type LinkTarget, toLinkName } from "./link-targets.ts";
import type { Receipt } from "./receipts.service.ts";

/** What the page of a link shows of its file. */
export type Preview =
  | { readonly kind: "picture" | "sound" | "film" | "viewer" }
  | { readonly kind: "text"; readonly text: string; readonly isWhole: boolean };

/** Creates the page of an address without a link, or with one that has ended. It does not tell which. */
export const createMissingPage = (): Promise<StandalonePage> =>
  createMessagePage(
    "This link is not available",
    "It may have expired, have been revoked, or be mistyped. Ask the person who sent it for another one.",
  );

/** Creates a page with one message. */
export function createMessagePage(heading: string, message: string): Promise<StandalonePage> {
  return createStandalonePage({
    title: heading,
    body: (
      <>
        <h1>{heading}</h1>
        <p>{message}</p>
      </>
    ),
  });
}

/** Creates the form for the password of a link. `action` is relative to the page. */
export function createPasswordPage(
  action: string,
  failure: string | undefined,
): Promise<StandalonePage> {
  const title = "This link needs a password";
  return createStandalonePage({
    title,
    body: (
      <>
        <h1>{title}</h1>
        <Alert text={failure} />
        <form method="post" action={action} encType="multipart/form-data" className="stack">
          <label>
            Password
            <input type="password" name="password" required autoComplete="off" autoFocus />
          </label>
          <div>
            <button type="submit" className="primary">
              Open
            </button>
          </div>
        </form>
      </>
    ),
  });
}

/** Creates the page of a link to download: name, size and sender, a preview, and the button. */
export function createDownloadPage({
  link,
  target,
  secret,
  preview,
  isUsedUp,
}: {
  readonly link: VaultLink;
  readonly target: LinkTarget;
  readonly secret: string;
  readonly preview: Preview | undefined;
  readonly isUsedUp: boolean;
}): Promise<StandalonePage> {
  const title = toLinkName(link, target);
  return createStandalonePage({
    title,
    hasMedia: preview !== undefined && preview.kind !== "text",
    body: (
      <>
        <h1>
          <bdi>{title}</bdi>
        </h1>
        <p className="quiet">
          {toSizeText(target)} · sent by <bdi>{link.ownerHandle}</bdi>
          {link.expiresAt === undefined ? null : ` · available until ${toDay(link.expiresAt)}`}
        </p>
        {isUsedUp ? (
          <p role="status">
            All downloads of this link are used. If yours broke off, you can{" "}
            <a href={`${secret}/download`}>repeat it</a> within an hour.
          </p>
        ) : (
          <p>
            <a className="button primary" href={`${secret}/download`} rel="nofollow">
              {target.kind === "documents" || target.kind === "folder"
                ? "Download as ZIP"
                : "Download"}
            </a>
          </p>
        )}
        {toRemark(link)}
        {target.kind === "documents" ? <Names target={target} /> : null}
        {preview === undefined || isUsedUp ? null : (
          <PreviewOf preview={preview} address={`${secret}/preview`} name={title} />
        )}
      </>
    ),
  });
}

function toRemark({ maxDownloads, downloads }: VaultLink): ReactNode {
  const left = maxDownloads === undefined ? undefined : maxDownloads - downloads;
  if (left === undefined || left <= 0) return null;
  const text = left === 1 ? "one more time" : `${left} more times`;
  return <p className="quiet">It can be downloaded {text}.</p>;
}

function Names({ target }: { target: Extract<LinkTarget, { kind: "documents" }> }) {
  return (
    <ul className="list">
      {target.documents.map(({ id, filename, sizeBytes }) => (
        <li key={id}>
          <bdi>{filename}</bdi> <span className="quiet">{toBytesText(sizeBytes)}</span>
        </li>
      ))}
    </ul>
  );
}

function PreviewOf({
  preview,
  address,
  name,
}: {
  preview: Preview;
  address: string;
  name: string;
}) {
  switch (preview.kind) {
    case "picture":
      return <img src={address} alt={name} />;
    case "sound":
      return <audio controls preload="metadata" src={address} aria-label={name} />;
    case "film":
      return <video controls preload="metadata" src={address} aria-label={name} />;
    case "viewer":
      return (
        <p>
          <a href={address}>Show it in the browser</a>
        </p>
      );
    case "text":
      return (
        <>
          <pre className="plain" tabIndex={0}>
            {preview.text}
          </pre>
          {preview.isWhole ? null : <p className="quiet">This is its beginning.</p>}
        </>
      );
  }
}

/** Creates the form of a link that receives files. It shows nothing of the vault. */
export function createUploadPage(link: VaultLink, secret: string): Promise<StandalonePage> {
  const title = toLinkName(link, undefined);
  return createStandalonePage({
    title,
    body: (
      <>
        <h1>
          <bdi>{title}</bdi>
        </h1>
        {link.message === undefined ? null : <p className="plain">{link.message}</p>}
        <UploadForm link={link} secret={secret} />
      </>
    ),
  });
}

function UploadForm({ link, secret }: { link: VaultLink; secret: string }) {
  const files = link.maxFiles === undefined ? undefined : link.maxFiles - link.files;
  const bytes = link.maxBytes === undefined ? undefined : link.maxBytes - link.receivedBytes;
  const limits = [
    files === undefined ? "" : files === 1 ? "one file" : `${files} files`,
    bytes === undefined ? "" : toBytesText(bytes),
  ].filter((text) => text !== "");
  return (
    <form method="post" action={secret} encType="multipart/form-data" className="stack">
      <label>
        Files
        <input type="file" name="file" multiple={files !== 1} required />
      </label>
      {limits.length === 0 ? null : (
        <p className="quiet">It takes at most {limits.join(" and ")}.</p>
      )}
      <div>
        <button type="submit" className="primary">
          Send
        </button>
      </div>
    </form>
  );
}

/** Creates the page after files were sent: what has arrived, and what has not and why. */
export function createReceiptPage(
  { received, refused }: Receipt,
  { link, secret, isActive }: { link: VaultLink; secret: string; isActive: boolean },
): Promise<StandalonePage> {
  const title = received.length === 0 ? "Nothing was sent" : "Thank you";
  return createStandalonePage({
    title,
    body: (
      <>
        <h1>{title}</h1>
        {received.length === 0 ? null : (
          <p role="status">
            {received.length === 1 ? "One file has" : `${received.length} files have`} arrived.
          </p>
        )}
        {received.length === 0 && refused.length === 0 ? <p>No file was chosen.</p> : null}
        {refused.length === 0 ? null : (
          <>
            <Alert text="These files were not accepted:" />
            <ul className="list">
              {refused.map(({ name, reason }, at) => (
                <li key={at}>
                  <bdi>{name}</bdi>: {reason}
                </li>
              ))}
            </ul>
          </>
        )}
        {isActive ? (
          <>
            <h2>Send more</h2>
            <UploadForm link={link} secret={secret} />
          </>
        ) : null}
      </>
    ),
  });
}

function toSizeText(target: LinkTarget): string {
  switch (target.kind) {
    case "document":
      return toBytesText(target.document.sizeBytes);
    case "documents":
      return toBytesText(target.documents.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
    case "folder":
      return "folder";
    case "file":
      return target.item.size === undefined ? "file" : toBytesText(target.item.size);
  }
}

const toDay = (at: number): string => `${new Date(at).toISOString().slice(0, 10)} (UTC)`;
