import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { ForgePackageFile } from "../../../../storage/tables/forge/packages/packages.ts";
import type { BytesAnswer, ServerRequest } from "../../../http/handle.ts";
import { escapeHtml } from "../../../rendering/html/escape.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";

/** A project with its files, oldest first. */
export interface PypiProject {
  readonly ownerName: string;
  /** Normalized by PEP 503. */
  readonly name: string;
  readonly versions: readonly string[];
  readonly files: readonly PypiFile[];
}

interface PypiFile {
  readonly file: ForgePackageFile;
  readonly version: string;
  /** As in the metadata of the version; empty without a requirement. */
  readonly requiresPython: string;
}

const JSON_TYPE = "application/vnd.pypi.simple.v1+json";
const HTML_TYPE = "application/vnd.pypi.simple.v1+html";
const TEXT_TYPE = "text/html";
/** Ordered by preference: old clients name none of them. */
const types = [TEXT_TYPE, HTML_TYPE, JSON_TYPE] as const;
type SimpleType = (typeof types)[number];

const META = { "api-version": "1.1" } as const;
/** Files between two of which other requests get a turn. */
const BATCH_FILES = 200;

/** Converts the index of an owner's projects to HTML or JSON. */
export function toIndexAnswer(names: AsyncIterable<string>, request: ServerRequest): BytesAnswer {
  return toAnswer(request, {
    json: () => writeIndexJson(names),
    html: () =>
      writeHtml(
        "Simple index",
        mapEach(names, (name) => `<a href="${name}/">${name}</a><br>`),
      ),
  });
}

/** Converts the list of a project's files to HTML (PEP 503) or JSON (PEP 691, PEP 700). */
export function toProjectAnswer(
  project: PypiProject,
  request: ServerRequest,
  urls: ForgeUrls,
): BytesAnswer {
  const files = readInTurns(project.files);
  return toAnswer(request, {
    json: () => writeProjectJson(project, files, urls),
    html: () =>
      writeHtml(
        `Links for ${project.name}`,
        mapEach(files, (file) => toAnchor(project, file, urls)),
      ),
  });
}

type Write = () => AsyncIterable<string>;

function toAnswer(
  { headers }: ServerRequest,
  { json, html }: { readonly json: Write; readonly html: Write },
): BytesAnswer {
  const type = chooseType(headers.accept ?? "");
  return {
    status: 200,
    headers: { Vary: "Accept" },
    bytes: {
      size: undefined,
      contentType: type === TEXT_TYPE ? "text/html; charset=utf-8" : type,
      etag: undefined,
      lastModified: undefined,
      open: async () => Readable.from(type === JSON_TYPE ? json() : html()),
    },
  };
}

/** Returns the type with the highest weight in a header `Accept` (RFC 9110, 12.5.1); HTML when it names none. */
function chooseType(accept: string): SimpleType {
  const weights = new Map<string, number>();
  for (const range of accept.split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    weights.set(type, weight === undefined ? 1 : Number(weight) || 0);
  }
  const latest: Readonly<Record<string, SimpleType>> = {
    "application/vnd.pypi.simple.latest+json": JSON_TYPE,
    "application/vnd.pypi.simple.latest+html": HTML_TYPE,
  };
  let chosen: SimpleType = TEXT_TYPE;
  let best = 0;
  for (const type of types) {
    const aliases = Object.keys(latest).filter((alias) => latest[alias] === type);
    const weight = Math.max(0, ...[type, ...aliases].map((name) => weights.get(name) ?? 0));
    if (weight <= best) continue;
    best = weight;
    chosen = type;
  }
  return chosen;
}

async function* writeIndexJson(names: AsyncIterable<string>): AsyncGenerator<string> {
  yield `{"meta":${JSON.stringify(META)},"projects":[`;
  let separator = "";
  for await (const name of names) {
    yield `${separator}${JSON.stringify({ name })}`;
    separator = ",";
  }
  yield "]}";
}

async function* writeProjectJson(
  project: PypiProject,
  files: AsyncIterable<PypiFile>,
  urls: ForgeUrls,
): AsyncGenerator<string> {
  const { name, versions } = project;
  yield `${JSON.stringify({ meta: META, name, versions }).slice(0, -1)},"files":[`;
  let separator = "";
  for await (const each of files) {
    const { file, requiresPython } = each;
    const entry = {
      filename: file.name,
      url: toFileUrl(project, each, urls),
      hashes: { sha256: file.sha256 },
      ...(requiresPython === "" ? {} : { "requires-python": requiresPython }),
      size: file.size,
      "upload-time": new Date(file.createdAt).toISOString(),
    };
    yield `${separator}${JSON.stringify(entry)}`;
    separator = ",";
  }
  yield "]}";
}

async function* writeHtml(title: string, lines: AsyncIterable<string>): AsyncGenerator<string> {
  yield `<!DOCTYPE html>\n<html>\n<head>\n<meta name="pypi:repository-version" content="${META["api-version"]}">\n<title>${title}</title>\n</head>\n<body>\n<h1>${title}</h1>\n`;
  for await (const line of lines) yield `${line}\n`;
  yield "</body>\n</html>\n";
}

function toAnchor(project: PypiProject, each: PypiFile, urls: ForgeUrls): string {
  const { file, requiresPython } = each;
  const href = escapeHtml(`${toFileUrl(project, each, urls)}#sha256=${file.sha256}`);
  const requires =
    requiresPython === "" ? "" : ` data-requires-python="${escapeHtml(requiresPython)}"`;
  return `<a href="${href}"${requires}>${escapeHtml(file.name)}</a><br>`;
}

function toFileUrl(
  { ownerName, name }: PypiProject,
  { file, version }: PypiFile,
  urls: ForgeUrls,
): string {
  const path = [name, version, file.name].map(encodeURIComponent).join("/");
  return toUrl(urls, `/api/packages/${ownerName}/pypi/files/${path}`);
}

async function* readInTurns<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const [index, item] of items.entries()) {
    // Other requests come between two batches, however fast the client is.
    if (index % BATCH_FILES === BATCH_FILES - 1) await setImmediate();
    yield item;
  }
}

async function* mapEach<T>(
  items: AsyncIterable<T>,
  convert: (item: T) => string,
): AsyncGenerator<string> {
  for await (const item of items) yield convert(item);
}
