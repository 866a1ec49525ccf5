import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import type { TlsSetting } from "../settings/types.ts";

/** The files that https is served with; checked, and the key fits the certificate. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Https cannot be served; the message tells a person which file is wrong and how. */
export class TlsError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "TlsError";
  }
}

export interface TlsOptions {
  /** `keys/` of the data directory: where an own certificate is kept. */
  readonly keysDirectory: string;
  /** The names and addresses that an own certificate is for, besides the loopback ones. */
  readonly hosts: readonly string[];
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Replaces a file in one step, for this user's eyes only. */
  readonly writePrivately: (path: string, text: string) => Promise<void>;
}

const DAY_MS = 86_400_000;
/** Apple's systems take no certificate that lives longer than 825 days, however it is trusted. */
const LIFE_DAYS = 800;
const RENEW_DAYS = 30;
const LOOPBACK = ["localhost", "127.0.0.1", "::1"];

/**
 * The certificate for https, or undefined when TLS is off. `self` makes one once and keeps it with mode 0600; it is
 * made anew when it has ended, soon will, is for other names or is damaged. Given files are checked and never changed.
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
      await assertPair(files, options.clock());
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
    const made = await makeCertificate(names, clock());
    // A crash between the two leaves a pair that does not fit, which the next start replaces.
    await options.writePrivately(files.keyFile, made.private);
    await options.writePrivately(files.certFile, made.cert);
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
    const certificate = await assertPair(files, now + RENEW_DAYS * DAY_MS);
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

/** Reads both files and makes sure that a server can be run with them. */
async function assertPair(
  { certFile, keyFile }: CertificateFiles,
  now: number,
): Promise<X509Certificate> {
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
  return certificate;
}

/** What only the server's own reading finds: a damaged certificate further down the chain, a key too short for it. */
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
    // An hour back, for clients whose clocks are behind.
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
  const known: Readonly<Record<string, string>> = {
    ENOENT: "there is no such file",
    EACCES: "this user may not read it",
    EISDIR: "it is a folder",
    ENOSPC: "no room left",
    EROFS: "it cannot be written",
  };
  return known[code ?? ""] ?? message;
}
