import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import type { TlsSetting } from "../settings/types.ts";
import type { Log } from "../utilities/logging.ts";

/** The validated files of the https server: certificate and matching private key. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate, with its chain, and its key in PEM form. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Thrown when https cannot be served. The message names the file and its fault. */
export class TlsError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "TlsError";
  }
}

export interface TlsOptions {
  /** `keys/` of the data directory, which holds a self-signed certificate. */
  readonly keysDirectory: string;
  /** Names and addresses of a self-signed certificate, besides the loopback ones. */
  readonly hosts: readonly string[];
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Replaces a file atomically, with mode 0600. */
  readonly writePrivately: (path: string, text: string) => Promise<void>;
}

const DAY_MS = 86_400_000;
/** Apple's systems reject certificates that are valid for more than 825 days, even trusted ones. */
const LIFE_DAYS = 800;
const RENEW_DAYS = 30;
/** The end of a configured certificate is reported so long before, once a day. */
const WARN_DAYS = 14;
/** Programs that renew certificates replace the files about once in two months. */
const WATCH_MS = 60_000;
const LOOPBACK = ["localhost", "127.0.0.1", "::1"];

/**
 * Returns the certificate for https, or undefined when TLS is off. With `self` it is generated and stored with mode 0600,
 * and generated again when it has expired, expires soon, is damaged or lacks a name. Configured files are validated and
 * never changed.
 * @throws TlsError
 */
export async function openCertificate(
  tls: TlsSetting,
  options: TlsOptions,
): Promise<CertificateFiles | undefined> {
  switch (tls.kind) {
    case "off":
      return undefined;
    case "self":
      return openOwnCertificate(options);
    case "files": {
      const files = { certFile: tls.certificateFile, keyFile: tls.keyFile };
      await readPair(files, options.clock());
      return files;
    }
  }
}

async function openOwnCertificate(options: TlsOptions): Promise<CertificateFiles> {
  const { keysDirectory, clock } = options;
  const files = {
    certFile: join(keysDirectory, "tls.crt"),
    keyFile: join(keysDirectory, "tls.key"),
  };
  const names = [...new Set([...LOOPBACK, ...options.hosts].map((host) => host.toLowerCase()))];
  if (await isUsable(files, names, clock())) {
    return files;
  }
  try {
    const certificate = await makeCertificate(names, clock());
    // A crash between the two writes leaves a mismatched pair, which the next start replaces.
    await options.writePrivately(files.keyFile, certificate.private);
    await options.writePrivately(files.certFile, certificate.cert);
  } catch (error) {
    throw new TlsError(
      `cannot keep an own certificate in ${keysDirectory}: ${reasonOf(error)}`,
      error,
    );
  }
  return files;
}

async function isUsable(
  files: CertificateFiles,
  names: readonly string[],
  now: number,
): Promise<boolean> {
  try {
    const { certificate } = await readPair(files, now + RENEW_DAYS * DAY_MS);
    return (
      certificate.validFromDate.getTime() <= now &&
      names.length === namesIn(certificate).length &&
      names.every((name) => covers(certificate, name))
    );
  } catch (error) {
    if (error instanceof TlsError) {
      return false;
    }
    throw error;
  }
}

export interface CertificateWatchOptions {
  /** Opens the certificate as at the start; renews an own one that ends soon. */
  readonly open: () => Promise<CertificateFiles | undefined>;
  readonly replace: (certificate: Certificate) => void;
  readonly log: Pick<Log, "info" | "warn">;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

/** Looks at the certificate once a minute. */
export interface CertificateWatch extends Disposable {
  /** Looks at once; for tests. */
  look(): Promise<void>;
}

/**
 * Serves a renewed certificate without a restart, renews an own one and warns of the end of a configured one. While
 * the files cannot be served, such as between the two writes of a renewal, the former certificate stays.
 */
export function watchCertificate(options: CertificateWatchOptions): CertificateWatch {
  const { open, replace, log, clock } = options;
  let served: string | undefined;
  let complaint = "";
  let warnedAt = -Infinity;

  async function look(): Promise<void> {
    try {
      const files = await open();
      if (files === undefined) return;
      const { certificate, cert, key } = await readPair(files, clock());
      const { fingerprint256: fingerprint, validToDate } = certificate;
      if (served !== undefined && served !== fingerprint) {
        replace({ cert, key });
        log.info({ ends_at: validToDate.toISOString() }, "serves a renewed certificate");
      }
      served = fingerprint;
      complaint = "";
      const now = clock();
      if (validToDate.getTime() - now > WARN_DAYS * DAY_MS || now - warnedAt < DAY_MS) return;
      warnedAt = now;
      log.warn({ ends_at: validToDate.toISOString() }, "the certificate of https ends soon");
    } catch (error) {
      const text = reasonOf(error);
      if (text !== complaint)
        log.warn({ err: error }, "failed to read the certificate, serves the former one");
      complaint = text;
    }
  }

  const timer = setInterval(() => {
    look().catch((error: unknown) =>
      log.warn({ err: error }, "failed to look for a renewed certificate"),
    );
  }, WATCH_MS).unref();
  return { look, [Symbol.dispose]: () => clearInterval(timer) };
}

/** Reads and validates both files. Throws `TlsError`. */
async function readPair(
  { certFile, keyFile }: CertificateFiles,
  now: number,
): Promise<Certificate & { readonly certificate: X509Certificate }> {
  const [certText, keyText] = [await read(certFile), await read(keyFile)];
  const certificate = toCertificate(certFile, certText);
  const key = toKey(keyFile, keyText);
  if (!certificate.checkPrivateKey(key)) {
    throw new TlsError(`the key in ${keyFile} is not the one of the certificate in ${certFile}`);
  }
  if (certificate.validToDate.getTime() <= now) {
    const ended = certificate.validToDate.toISOString().slice(0, 10);
    throw new TlsError(`the certificate in ${certFile} ended on ${ended}; put a valid one there`);
  }
  assertServable(certFile, certText, keyText);
  return { certificate, cert: certText, key: keyText };
}

/**
 * Creates a TLS context, which detects faults that parsing misses: a damaged certificate in the chain, a key that is
 * too short.
 */
function assertServable(certFile: string, cert: string, key: string): void {
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const reason = reasonOf(error).replace(/^error:.*:/, "");
    throw new TlsError(
      `https cannot be served with the certificates in ${certFile}: ${reason}`,
      error,
    );
  }
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new TlsError(`${path} cannot be read: ${reasonOf(error)}`, error);
  }
}

function toCertificate(path: string, text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch (error) {
    throw new TlsError(
      text.includes("PRIVATE KEY-----")
        ? `${path} holds a key where the certificate is expected: --tls takes CERT,KEY in this order`
        : `${path} holds no certificate in PEM form`,
      error,
    );
  }
}

function toKey(path: string, text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new TlsError(
      text.includes("ENCRYPTED")
        ? `the key in ${path} is encrypted; store it without a passphrase, readable by croft's user only`
        : `${path} holds no private key in PEM form`,
      error,
    );
  }
}

async function makeCertificate(names: readonly string[], now: number) {
  const { generate } = await import("selfsigned");
  return generate([{ name: "commonName", value: "croft" }], {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    // Backdated by an hour for clients whose clocks are slow.
    notBeforeDate: new Date(now - 3_600_000),
    notAfterDate: new Date(now + LIFE_DAYS * DAY_MS),
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: names.map((name) =>
          isIP(name) === 0 ? { type: 2 as const, value: name } : { type: 7 as const, ip: name },
        ),
      },
    ],
  });
}

function covers(certificate: X509Certificate, name: string): boolean {
  const found = isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name);
  return found !== undefined;
}

function namesIn(certificate: X509Certificate): string[] {
  return (certificate.subjectAltName ?? "").split(", ").filter((name) => name !== "");
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "there is no such file",
    EACCES: "this user may not read it",
    EISDIR: "it is a folder",
    ENOSPC: "no room left",
    EROFS: "it cannot be written",
  };
  return reasons[code ?? ""] ?? message;
}
