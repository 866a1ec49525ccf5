import { readByteSize } from "./byte-size.ts";

/** The context in which a value is parsed. */
export interface ReadContext {
  /** Makes a path absolute: a leading `~/` is the home directory, a relative path starts where the value was given. */
  resolvePath(path: string): string;
  /** The separator of paths in one text: `:`, on Windows `;`. */
  readonly pathSeparator: string;
}

/** A kind of value. Flags and variables give text; the config file gives text, numbers, booleans and lists. */
export interface SettingType<T> {
  /** The accepted values, to end the sentence "port takes …". */
  readonly takes: string;
  /** Returns the typed value, or undefined when `input` is invalid. */
  read(input: unknown, context: ReadContext): T | undefined;
  /** The value as people and scripts see it, when that is not the typed value itself. */
  show?(value: T): unknown;
}

/** TLS is off, uses a self-signed certificate, or uses the given files (absolute paths). */
export type TlsSetting =
  | { readonly kind: "off" }
  | { readonly kind: "self" }
  | { readonly kind: "files"; readonly certificateFile: string; readonly keyFile: string };

/** A folder of a bucket on a server that speaks S3. */
export interface BucketSetting {
  readonly bucket: string;
  /** Without slashes at its ends; empty for the whole bucket. */
  readonly folder: string;
  /** Scheme, host and port. */
  readonly endpoint: string;
  readonly region: string;
  /** The bucket is in the path, not in the host name. */
  readonly isPathStyle: boolean;
}

/** Any text on one line that is not empty. */
export const text: SettingType<string> = {
  takes: "a text on one line",
  read: readLine,
};

/** Least length of a passphrase of a backup: the archive can be tried offline, without a limit. */
export const PASSPHRASE_CHARACTERS_MIN = 12;

/** A passphrase on one line. */
export const passphrase: SettingType<string> = {
  takes: `a text on one line of at least ${PASSPHRASE_CHARACTERS_MIN} characters`,
  read(input) {
    const line = readLine(input);
    return line !== undefined && isLongPassphrase(line) ? line : undefined;
  },
};

/** Whether a new backup may be sealed with a passphrase; an emoji is one character. */
export function isLongPassphrase(text: string): boolean {
  return Array.from(text).length >= PASSPHRASE_CHARACTERS_MIN;
}

/** Master keys, newest first, as text: the keyring decodes them. */
export const masterKeys: SettingType<string> = {
  takes: "32 bytes as 64 hex digits or as base64, or several, separated by commas",
  read(input) {
    const line = readLine(input);
    const parts = line?.split(/[\s,]+/).filter((part) => part !== "") ?? [];
    return parts.length > 0 && parts.every((part) => /^(?:[0-9a-f]{64}|[\w+/-]{43}=?)$/i.test(part))
      ? line
      : undefined;
  },
};

/** A whole number from `min` to `max`; `unit` is for the message only. */
export function integer(min: number, max: number, unit?: string): SettingType<number> {
  return {
    takes: `a whole number${unit === undefined ? "" : ` of ${unit}`} from ${min} to ${max}`,
    read(input) {
      const value =
        typeof input === "string" && /^-?\d{1,16}$/.test(input.trim()) ? Number(input) : input;
      return typeof value === "number" &&
        Number.isSafeInteger(value) &&
        value >= min &&
        value <= max
        ? value
        : undefined;
    },
  };
}

/** A size of at least `min` bytes: a number, or a number with a unit. */
export function byteSize(min: number): SettingType<number> {
  return {
    takes: `a size of at least ${min} bytes, such as 1048576, 512MiB or 5GB`,
    read(input) {
      if (!["string", "number"].includes(typeof input)) return undefined;
      const bytes = readByteSize(String(input));
      return bytes !== undefined && bytes >= min ? bytes : undefined;
    },
  };
}

const switches: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["on", true],
  ["yes", true],
  ["1", true],
  ["false", false],
  ["off", false],
  ["no", false],
  ["0", false],
]);

/** On or off. */
export const onOff: SettingType<boolean> = {
  takes: "true or false (also on, off, yes, no, 1, 0)",
  read: (input) =>
    ["string", "boolean", "number"].includes(typeof input)
      ? switches.get(String(input).trim().toLowerCase())
      : undefined,
};

/** One of a few words. */
export function oneOf<const W extends string>(...words: readonly W[]): SettingType<W> {
  return {
    takes: `one of ${words.join(", ")}`,
    read: (input) => words.find((word) => word === input),
  };
}

/** An address of one of the `schemes`, without a trailing slash. Base addresses carry no user, query or fragment. */
export function address(...schemes: string[]): SettingType<string> {
  const base = schemes.every((scheme) => scheme.startsWith("http"));
  return {
    takes: `an address that begins with ${schemes.map((scheme) => `${scheme}://`).join(" or ")}${
      base ? ", without user, query and fragment" : ""
    }`,
    read(input) {
      const url = typeof input === "string" ? URL.parse(input) : null;
      // The query names the folder of a PostgreSQL server's socket.
      const hasHost = url !== null && (url.host !== "" || (!base && url.searchParams.has("host")));
      if (!hasHost || !schemes.includes(url.protocol.slice(0, -1))) {
        return undefined;
      }
      if (
        base &&
        (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
      ) {
        return undefined;
      }
      return base ? url.href.replace(/\/+$/, "") : String(input);
    },
  };
}

/** The address of an OpenID provider, exactly as it names itself: a slash at its end counts. */
export const issuer: SettingType<string> = {
  takes:
    "an address that begins with https://, or with http:// on this machine, without query and fragment",
  read(input) {
    const url = typeof input === "string" ? URL.parse(input) : null;
    if (url === null || url.username !== "" || url.search !== "" || url.hash !== "")
      return undefined;
    const isLocal = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
    const isSafe = url.protocol === "https:" || (url.protocol === "http:" && isLocal);
    return isSafe ? String(input) : undefined;
  },
};

/** A bucket as `s3://bucket/folder?endpoint=…&region=…&path_style=…`. Without an endpoint it is one of Amazon's. */
export const bucketUrl: SettingType<BucketSetting> = {
  takes:
    "s3://BUCKET/FOLDER?endpoint=https://HOST:PORT&region=REGION&path_style=true; all but the bucket may be left out; " +
    "keys have settings of their own",
  read(input) {
    const url = typeof input === "string" ? URL.parse(input) : null;
    if (url?.protocol !== "s3:") return undefined;
    const { username, password, port, hash, host: bucket, searchParams } = url;
    const folder = url.pathname.replace(/^\/+|\/+$/g, "");
    const names = [...searchParams.keys()];
    const isKnown = names.every((name) => ["endpoint", "region", "path_style"].includes(name));
    if (username + password + port + hash !== "" || !isKnown) return undefined;
    const region = searchParams.get("region") ?? "us-east-1";
    const amazon = `https://s3.${region}.amazonaws.com`;
    const endpoint = address("http", "https").read(searchParams.get("endpoint") ?? amazon, noPaths);
    const style = searchParams.get("path_style");
    const isPathStyle =
      style === null
        ? searchParams.has("endpoint") || bucket.includes(".")
        : onOff.read(style, noPaths);
    const isSound =
      names.length === new Set(names).size &&
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/.test(bucket) &&
      /^(?:[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*)?$/.test(folder) &&
      folder.length <= 200 &&
      /^[a-z0-9-]{1,40}$/.test(region);
    return !isSound ||
      endpoint === undefined ||
      isPathStyle === undefined ||
      new URL(endpoint).origin !== endpoint
      ? undefined
      : { bucket, folder, endpoint, region, isPathStyle };
  },
};

/** Returns the address of a bucket's folder, or of something in it, as `bucketUrl` reads it. */
export function toBucketUrl(place: BucketSetting, below = ""): string {
  const { bucket, folder, endpoint, region, isPathStyle } = place;
  const url = new URL(`s3://${[bucket, folder, below].filter((part) => part !== "").join("/")}`);
  const isAmazon = endpoint === `https://s3.${region}.amazonaws.com`;
  if (!isAmazon) url.searchParams.set("endpoint", endpoint);
  if (region !== "us-east-1") url.searchParams.set("region", region);
  if (isPathStyle !== (!isAmazon || bucket.includes(".")))
    url.searchParams.set("path_style", String(isPathStyle));
  return url.href.replaceAll("%3A", ":").replaceAll("%2F", "/");
}

/** For types that read no path. */
const noPaths: ReadContext = { resolvePath: (path) => path, pathSeparator: ":" };

/** `type`, or the word that switches it off. */
export function orWord<T, const W extends string>(
  type: SettingType<T>,
  word: W,
): SettingType<T | W> {
  return {
    takes: `${type.takes}, or ${word}`,
    read: (input, context) => (input === word ? word : type.read(input, context)),
  };
}

/** A list: in one text separated by commas, in the config file also a YAML list. `none` is the empty list. */
function listOf(
  takes: string,
  readItem: (item: string) => string | undefined,
): SettingType<readonly string[]> {
  return {
    takes,
    read(input) {
      if (input === "none") {
        return [];
      }
      const items = typeof input === "string" ? input.split(",") : input;
      if (!Array.isArray(items)) {
        return undefined;
      }
      const values = items.map((item: unknown) =>
        typeof item === "string" ? readItem(item.trim()) : undefined,
      );
      return values.every((value) => value !== undefined) ? values : undefined;
    },
  };
}

// Not by zod: every command with a config file reads the settings, and zod takes longer to load than a request takes.
const octet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const ipv4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`);

function isIpv6(text: string): boolean {
  return /^[\da-f.]*:[\da-f.:]*$/i.test(text) && URL.canParse(`http://[${text}]`);
}

/** Whether a text is an IP address without a zone, alone or with the length of a prefix. */
function isAddressRange(text: string): boolean {
  const [address = "", length, ...others] = text.split("/");
  const longest = ipv4.test(address) ? 32 : isIpv6(address) ? 128 : undefined;
  if (longest === undefined || others.length > 0) return false;
  return length === undefined || (/^(?:0|[1-9]\d{0,2})$/.test(length) && Number(length) <= longest);
}

const hostName =
  /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** IP addresses and ranges in CIDR notation. */
export const addressRanges = listOf(
  "IP addresses or ranges such as 10.0.0.0/8, separated by commas, or none",
  (item) => (isAddressRange(item) ? item : undefined),
);

const characterKinds = ["lower", "upper", "digit", "spec"] as const;

/** The kinds of characters that a password must contain. */
export const passwordComplexity: SettingType<readonly (typeof characterKinds)[number][]> = {
  takes: "some of lower, upper, digit and spec, separated by commas, or off",
  read(input, context) {
    if (input === "off") return [];
    const words = listOf("", (item) => item).read(input, context);
    const found = words?.map((word) => characterKinds.find((kind) => kind === word));
    return found?.every((kind) => kind !== undefined) ? found : undefined;
  },
};

/** Normalizes an IPv6 address to the form that `URL`, and thus every client, writes; undefined for other text. */
function toIpv6(text: string): string | undefined {
  return isIpv6(text) ? new URL(`http://[${text}]`).hostname.slice(1, -1) : undefined;
}

/** One host name or IP address to listen on, as `URL` writes it: in lower case, without brackets and last dot. */
export const hostAddress: SettingType<string> = {
  takes: "an IP address or a host name, without scheme and port",
  read(input) {
    if (typeof input !== "string") return undefined;
    const bare = /^\[(.*)\]$/.exec(input.trim())?.[1] ?? input.trim();
    const canonical = toIpv6(bare);
    if (canonical !== undefined) return canonical;
    if (/[^\p{L}\p{N}._-]/u.test(bare)) return undefined;
    const name = URL.parse(`http://${bare}`)?.hostname.replace(/\.$/, "") ?? "";
    return name.length <= 253 && hostName.test(name) ? name : undefined;
  },
};

/** Host names and IP addresses of a `Host` header, without a port; in lower case and without brackets. */
export const hostNames = listOf(
  "host names without ports, separated by commas, or none",
  (item) => {
    const name = item.toLowerCase();
    return (
      toIpv6(/^\[(.*)\]$/.exec(name)?.[1] ?? name) ??
      (name.length <= 253 && hostName.test(name) ? name : undefined)
    );
  },
);

/** Origins of web pages: scheme, host and port. */
export const origins = listOf(
  "origins such as https://app.example.org, separated by commas, or none",
  (item) => {
    const url = URL.parse(item);
    return url !== null && /^https?:$/.test(url.protocol) && url.origin === item.replace(/\/$/, "")
      ? url.origin
      : undefined;
  },
);

/** One absolute path. */
export const filePath: SettingType<string> = {
  takes: "a path",
  read: (input, context) =>
    typeof input === "string" && input !== "" && !input.includes("\0")
      ? context.resolvePath(input)
      : undefined,
};

/** Paths, made absolute. In one text they are separated by the system's separator. */
export const filePaths: SettingType<readonly string[]> = {
  takes: "paths, separated as in PATH (in the config file also a list)",
  read(input, context) {
    const items = typeof input === "string" ? input.split(context.pathSeparator) : input;
    if (!Array.isArray(items)) {
      return undefined;
    }
    const paths = items
      .filter((item) => item !== "")
      .map((item: unknown) => filePath.read(item, context));
    return paths.every((path) => path !== undefined) ? paths : undefined;
  },
};

/** `off`, `self`, or two files. */
export const tlsMode: SettingType<TlsSetting> = {
  takes: "off, self, or a certificate file and a key file separated by a comma",
  read(input, context) {
    // YAML 1.1 readers make `off` false; both spellings mean the same here.
    if (input === "off" || input === false) {
      return { kind: "off" };
    }
    if (input === "self") {
      return { kind: "self" };
    }
    const files = typeof input === "string" ? input.split(",").map((file) => file.trim()) : [];
    const [certificate, key] = files;
    if (files.length !== 2 || !certificate || !key) {
      return undefined;
    }
    return {
      kind: "files",
      certificateFile: context.resolvePath(certificate),
      keyFile: context.resolvePath(key),
    };
  },
  show: (value) =>
    value.kind === "files" ? `${value.certificateFile},${value.keyFile}` : value.kind,
};

function readLine(input: unknown): string | undefined {
  // oxlint-disable-next-line no-control-regex -- the pattern refuses control characters
  return typeof input === "string" && input.trim() !== "" && !/[\u0000-\u001f\u007f]/.test(input)
    ? input
    : undefined;
}
