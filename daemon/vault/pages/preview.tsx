import type { ReactNode } from "react";
import type { AnyEndpoint } from "../../contract/endpoint.ts";
import { AppError } from "../../errors.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import { Code, EmptyState, Rendered } from "../../pages/elements.tsx";
import { type OperationInput, readText } from "../../pages/operations.ts";
import { isPreviewable, toEssence } from "../cloud/bytes/previewable.ts";
import type { SignedInContext, VaultPageAnswer } from "./vault-page.ts";

/** A file that a page shows: a document, or an item of connected storage. */
export interface ShownFile {
  readonly name: string;
  readonly contentType: string | null;
  readonly size: number | null;
  /** The text of the analysis; undefined for callers who do not get it. */
  readonly extractedText?: string | null | undefined;
  /** The address of the bytes for frames, pictures and players. */
  readonly rawPath: string;
  /** The operation that gives the bytes. */
  readonly content: { readonly declared: AnyEndpoint; readonly input: OperationInput };
}

/** Bytes of a text that a page shows. */
const TEXT_BYTES_MAX = 512 * 1024;
const EXTRACTED_CHARACTERS_MAX = 200_000;

const textTypes =
  /^(?:text\/|application\/(?:json|xml|javascript|x-ipynb\+json|x-sh|x-yaml|yaml|toml|sql)|.*\+(?:json|xml)$)/;
/** Endings of text files that clients send without a type. */
const textNames =
  /\.(?:adoc|asciidoc|bat|c|cc|cfg|conf|cpp|cs|css|csv|diff|env|go|h|hpp|html?|ini|ipynb|java|js|json|jsonl|jsx|kt|log|lua|m|markdown|md|mjs|org|patch|php|pl|properties|ps1|py|r|rb|rs|rst|scss|sh|sql|svg|swift|tex|toml|ts|tsv|tsx|txt|vue|xml|ya?ml)$/i;

/**
 * Shows a file as far as a browser can without running anything in it: pictures, PDF, audio and video in the browser's
 * own viewers; texts as the renderer makes safe HTML of them; all else as the text of the analysis.
 */
export async function showPreview(
  context: SignedInContext,
  file: ShownFile,
  /** Whether a PDF is shown in the page. */
  opensPdf: boolean,
): Promise<ReactNode> {
  const type = toEssence(file.contentType ?? undefined);
  const isText = textTypes.test(type) || textNames.test(file.name);
  if (/^image\//.test(type) && (isPreviewable(type) || type === "image/svg+xml"))
    return (
      <>
        <img className="picture" src={file.rawPath} alt={`Preview of ${file.name}`} />
        {type === "image/svg+xml" ? await showText(context, file) : null}
      </>
    );
  if (type === "application/pdf") return <Pdf file={file} isOpen={opensPdf} />;
  if (/^audio\//.test(type) && isPreviewable(type))
    return <audio className="player" controls preload="metadata" src={file.rawPath} />;
  if (/^video\//.test(type) && isPreviewable(type))
    return <video className="player" controls preload="metadata" src={file.rawPath} />;
  if (isText) return showText(context, file);
  return <ExtractedText file={file} />;
}

/**
 * Lets the browser show a PDF in a frame of the page. Its viewer does not start in a sandbox; a PDF has no access to the
 * page around it. All other bytes stay sandboxed.
 */
export function toFramed(answer: BytesAnswer): VaultPageAnswer {
  if (toEssence(answer.bytes.contentType) !== "application/pdf") return { kind: "file", answer };
  const headers = { ...answer.headers, "Content-Security-Policy": PDF_POLICY };
  return { kind: "file", answer: { ...answer, headers }, isFramed: true };
}

const PDF_POLICY = "default-src 'none'; frame-ancestors 'self'";

function Pdf({ file, isOpen }: { file: ShownFile; isOpen: boolean }) {
  return (
    <>
      {isOpen ? (
        <iframe className="pdf" src={file.rawPath} title={`Preview of ${file.name}`} />
      ) : null}
      <p>
        <a href={file.rawPath} target="_blank" rel="noopener">
          Open the PDF in a tab of its own
        </a>
      </p>
    </>
  );
}

async function showText(context: SignedInContext, file: ShownFile): Promise<ReactNode> {
  const read = await readBeginning(context, file);
  if (read === undefined) return <ExtractedText file={file} />;
  const { text, isWhole } = read;
  if (text.includes("\0")) return <ExtractedText file={file} />;
  const html = isWhole ? await renderFile(context, file, text) : undefined;
  return (
    <>
      {isWhole ? null : <p className="notice">The beginning of the text is shown.</p>}
      {PROSE.test(file.name) ? (
        <pre className="plain" dir="auto" tabIndex={0}>
          {text}
        </pre>
      ) : MARKUP.test(file.name) ? (
        <div className="card">
          <Rendered html={html} text={text} />
        </div>
      ) : (
        <Code html={html} text={text} />
      )}
    </>
  );
}

const PROSE = /\.(?:txt|text|log)$|^[^.]*$/i;
const MARKUP = /\.(?:md|markdown|mdown|mkd|org|csv|tsv|adoc|asciidoc|ipynb)$/i;

function renderFile(
  { render }: SignedInContext,
  { name }: ShownFile,
  text: string,
): Promise<string | undefined> {
  return MARKUP.test(name)
    ? render({ text, mode: "file", context: "", filePath: name })
    : render({ text, mode: "markdown", context: "", language: toLanguage(name) });
}

/** Returns the language that the name of a file ends in. */
const toLanguage = (name: string): string => /\.(\w{1,12})$/.exec(name)?.[1] ?? "";

/** Returns the beginning of a text; undefined where the caller may not have the bytes, or the storage does not give them. */
async function readBeginning({ call }: SignedInContext, { content }: ShownFile) {
  try {
    return await readText(call, content.declared, content.input, TEXT_BYTES_MAX);
  } catch (error) {
    const isExpected =
      error instanceof AppError &&
      ["forbidden", "unavailable", "provider_failed", "reauth_required"].includes(error.code);
    if (isExpected) return undefined;
    throw error;
  }
}

function ExtractedText({ file: { extractedText } }: { file: ShownFile }) {
  if (extractedText === undefined || extractedText === null || extractedText === "")
    return <EmptyState>There is no preview of this file.</EmptyState>;
  const isWhole = extractedText.length <= EXTRACTED_CHARACTERS_MAX;
  return (
    <>
      <p className="quiet">
        {isWhole ? "The text of the file:" : "The beginning of the text of the file:"}
      </p>
      <pre className="plain" dir="auto" tabIndex={0}>
        {extractedText.slice(0, EXTRACTED_CHARACTERS_MAX)}
      </pre>
    </>
  );
}
