import type { Readable } from "node:stream";
import type { Offline } from "../transport.ts";
import { readXml, type XmlElement } from "../xml.ts";

/** One `response` of a multistatus answer (RFC 4918, 14.24). */
export interface DavResponse {
  readonly href: string;
  /** Status of the whole response; undefined when it has properties instead. */
  readonly status: number | undefined;
  /** `resourcetype` holds a `collection`. */
  readonly isFolder: boolean;
  /** The server failed to give the properties that tell the kind of the item, with this status. */
  readonly failedStatus: number | undefined;
  /** Texts of the properties that were found, by `{namespace}name`. */
  readonly props: ReadonlyMap<string, string>;
}

const DAV = "DAV:";
/** About five hundred bytes for each item that a folder may have. */
const BYTES_MAX = 512 * 1024 * 1024;
/** The most properties of one response that are kept, far more than are requested. */
const PROPS_MAX = 64;

/**
 * Parses a multistatus response as a stream. Anything else, such as an HTML page, is `offline`. `onResponse` is called
 * for each response; its errors are rethrown.
 */
export async function readMultistatus(
  stream: Readable,
  onResponse: (response: DavResponse) => void,
  bytesMax = BYTES_MAX,
): Promise<{ readonly kind: "ok" } | Offline> {
  let isMultistatus = false;
  let response = emptyResponse();
  let propstat = emptyPropstat();
  const outcome = await readXml(
    stream,
    {
      open(element) {
        if (element.parent === undefined) isMultistatus = isDav(element, "multistatus");
        else if (isDav(element, "response") && isTop(element.parent)) response = emptyResponse();
        else if (isDav(element, "propstat")) propstat = emptyPropstat();
      },
      close(element, text) {
        const { parent } = element;
        if (!isMultistatus || parent === undefined) return;
        if (isDav(parent, "response")) {
          if (isDav(element, "href")) response.href ??= text;
          else if (isDav(element, "status")) response.status = toStatus(text);
          else if (isDav(element, "propstat") && isSuccess(propstat.status)) {
            for (const [name, value] of propstat.props) response.props.set(name, value);
            response.isFolder ||= propstat.isFolder;
          } else if (isDav(element, "propstat") && tellsNoKind(propstat))
            response.failedStatus = propstat.status;
        } else if (isDav(parent, "propstat") && isDav(element, "status"))
          propstat.status = toStatus(text);
        else if (isDav(parent, "prop") && propstat.props.size < PROPS_MAX)
          propstat.props.set(`{${element.uri}}${element.local}`, text.trim());
        else if (isDav(parent, "resourcetype") && isDav(element, "collection"))
          propstat.isFolder = true;
        else if (isDav(element, "response") && isTop(parent) && response.href !== undefined)
          onResponse({ ...response, href: response.href });
      },
    },
    { bytesMax },
  );
  if (outcome.kind === "ok" && !isMultistatus)
    return { kind: "offline", sent: true, note: "no_multistatus" };
  return outcome;
}

function emptyResponse() {
  return {
    href: undefined as string | undefined,
    status: undefined as number | undefined,
    failedStatus: undefined as number | undefined,
    isFolder: false,
    props: new Map<string, string>(),
  };
}

function emptyPropstat() {
  return {
    status: undefined as number | undefined,
    isFolder: false,
    props: new Map<string, string>(),
  };
}

function isDav({ uri, local }: XmlElement, name: string): boolean {
  return local === name && uri === DAV;
}

function isTop(element: XmlElement): boolean {
  return element.parent === undefined && isDav(element, "multistatus");
}

/** Parses the code of a status line such as `HTTP/1.1 200 OK`. */
function toStatus(text: string): number | undefined {
  const found = /^\s*HTTP\/[\d.]+\s+(\d{3})\b/i.exec(text);
  return found === null ? undefined : Number(found[1]);
}

/** Whether a failed group of properties holds the type; servers answer 404 for properties that an item lacks. */
function tellsNoKind({ status, props }: ReturnType<typeof emptyPropstat>): boolean {
  return status !== 404 && props.has(`{${DAV}}resourcetype`);
}

/** A group of properties without a status counts as found: some servers omit it. */
function isSuccess(status: number | undefined): boolean {
  return status === undefined || (status >= 200 && status < 300);
}
