import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, request } from "undici";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type Certificate,
  type CertificateFiles,
  openCertificate,
  TlsError,
  watchCertificate,
} from "../../../../daemon/http/tls.ts";
import { writePrivately } from "../../../../storage/keys/private-file.ts";

const DAY = 86_400_000;
let folder: string;
let now: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-tls-"));
  now = Date.now();
});
afterEach(() => rm(folder, { recursive: true }));

const options = (hosts: string[] = []) => ({
  keysDirectory: folder,
  hosts,
  clock: () => now,
  writePrivately,
});
const open = async (hosts: string[] = []): Promise<CertificateFiles> => {
  const files = await openCertificate({ kind: "self" }, options(hosts));
  expect(files).toBeDefined();
  return files as CertificateFiles;
};
const readCert = async (files: CertificateFiles) =>
  new X509Certificate(await readFile(files.certFile));
const openFiles = (certificateFile: string, keyFile: string) =>
  openCertificate({ kind: "files", certificateFile, keyFile }, options());

describe("--tls off", () => {
  test("needs no certificate", async () => {
    expect(await openCertificate({ kind: "off" }, options())).toBeUndefined();
  });
});

describe("--tls self", () => {
  test("makes a certificate for the loopback and the given names, kept private", async () => {
    const files = await open(["NAS.example.org", "192.168.1.9", "2001:db8::1"]);
    const certificate = await readCert(files);
    for (const name of ["localhost", "nas.example.org"]) {
      expect(certificate.checkHost(name)).toBe(name);
    }
    for (const address of ["127.0.0.1", "::1", "192.168.1.9", "2001:db8::1"]) {
      expect(certificate.checkIP(address)).toBe(address);
    }
    expect(certificate.checkHost("other.example.org")).toBeUndefined();
    expect(certificate.ca).toBe(false);
    for (const file of [files.certFile, files.keyFile]) {
      expect((await stat(file)).mode & 0o777).toBe(0o600);
    }
  });

  test("serves https that a client who trusts it accepts", async () => {
    const files = await open();
    const [cert, key] = [await readFile(files.certFile), await readFile(files.keyFile)];
    const server = createServer({ cert, key }, (_message, response) => response.end("secure"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const dispatcher = new Agent({ connect: { ca: cert } });
    const { body } = await request(`https://localhost:${port}/`, { dispatcher });
    expect(await body.text()).toBe("secure");
    await dispatcher.close();
    server.close();
  });

  test("keeps the certificate while it holds, and makes another in time", async () => {
    const first = await readCert(await open(["nas"]));
    now += 700 * DAY;
    expect((await readCert(await open(["nas"]))).fingerprint256).toBe(first.fingerprint256);
    now += 80 * DAY;
    const second = await readCert(await open(["nas"]));
    expect(second.fingerprint256).not.toBe(first.fingerprint256);
    expect(second.validToDate.getTime()).toBeGreaterThan(now + 790 * DAY);
  });

  test("makes another certificate when a name is added or removed, or a file is damaged", async () => {
    const first = await readCert(await open(["nas"]));
    const second = await readCert(await open(["nas", "attic"]));
    const third = await readCert(await open(["attic"]));
    const files = await open(["attic"]);
    await writeFile(files.keyFile, "damaged");
    const fourth = await readCert(await open(["attic"]));
    await rm(files.certFile);
    const fifth = await readCert(await open(["attic"]));
    const all = [first, second, third, fourth, fifth].map(
      (certificate) => certificate.fingerprint256,
    );
    expect(new Set(all).size).toBe(5);
  });
});

describe("--tls CERT,KEY", () => {
  test("takes a pair that fits", async () => {
    const { certFile, keyFile } = await open();
    expect(await openFiles(certFile, keyFile)).toEqual({ certFile, keyFile });
  });

  test("names the invalid file and the reason", async () => {
    const { certFile, keyFile } = await open();
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const other = join(folder, "other.key");
    const locked = join(folder, "locked.key");
    const junk = join(folder, "junk");
    await writeFile(other, privateKey.export({ type: "pkcs8", format: "pem" }));
    await writeFile(
      locked,
      privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }),
    );
    await writeFile(junk, "junk");
    const refusals = [
      [join(folder, "none"), keyFile, "none cannot be read: there is no such file"],
      [folder, keyFile, "it is a folder"],
      [junk, keyFile, "junk holds no certificate in PEM form"],
      [certFile, junk, "junk holds no private key in PEM form"],
      [certFile, locked, "locked.key is encrypted"],
      [certFile, other, "other.key is not the one of the certificate"],
      [keyFile, certFile, "CERT,KEY in this order"],
    ] as const;
    for (const [cert, key, text] of refusals) {
      const refusal = openFiles(cert, key);
      await expect(refusal).rejects.toThrow(TlsError);
      await expect(refusal).rejects.toThrow(text);
    }
  });

  test("refuses a chain that is damaged behind its first certificate", async () => {
    const { certFile, keyFile } = await open();
    const chain = join(folder, "chain.pem");
    const end = "-----BEGIN CERTIFICATE-----\nnot base64\n-----END CERTIFICATE-----\n";
    await writeFile(chain, `${await readFile(certFile, "utf8")}\n${end}`);
    const refused = openFiles(chain, keyFile);
    await expect(refused).rejects.toThrow(TlsError);
    await expect(refused).rejects.toThrow(
      `https cannot be served with the certificates in ${chain}: bad base64 decode`,
    );
  });

  test("refuses an expired certificate", async () => {
    const { certFile, keyFile } = await open();
    now += 801 * DAY;
    await expect(openFiles(certFile, keyFile)).rejects.toThrow("ended on");
  });
});

describe("a renewed certificate", () => {
  const watch = (at: () => Promise<CertificateFiles | undefined>) => {
    const served: Certificate[] = [];
    const lines: string[] = [];
    const note = (_facts: unknown, message?: string) => void lines.push(message ?? "");
    const log = { info: note, warn: note };
    const replace = (certificate: Certificate) => void served.push(certificate);
    return { served, lines, ...watchCertificate({ open: at, replace, log, clock: () => now }) };
  };

  test("is served to new connections, and the former one while the files do not match", async () => {
    const files = await open();
    const { served, lines, look, ...rest } = watch(() => openFiles(files.certFile, files.keyFile));
    using _watch = rest;
    await look();
    await look();
    expect(served).toEqual([]);
    const former = await readFile(files.keyFile, "utf8");
    await rm(files.certFile);
    await open();
    const [cert, key] = [
      await readFile(files.certFile, "utf8"),
      await readFile(files.keyFile, "utf8"),
    ];
    await writeFile(files.keyFile, former);
    await look();
    await look();
    expect(served).toEqual([]);
    expect(lines).toEqual(["failed to read the certificate, serves the former one"]);
    await writeFile(files.keyFile, key);
    await look();
    expect(served).toEqual([{ cert, key }]);
    expect(lines.at(-1)).toBe("serves a renewed certificate");
  });

  test("of one's own is made before the former one ends", async () => {
    await open();
    const { served, look, ...rest } = watch(() => open());
    using _watch = rest;
    await look();
    now += 780 * DAY;
    await look();
    expect(served).toHaveLength(1);
  });

  test("a configured certificate that ends soon is reported once a day", async () => {
    const files = await open();
    const { lines, look, ...rest } = watch(() => openFiles(files.certFile, files.keyFile));
    using _watch = rest;
    now += 780 * DAY;
    await look();
    expect(lines).toEqual([]);
    now += 10 * DAY;
    await look();
    now += DAY / 2;
    await look();
    expect(lines).toEqual(["the certificate of https ends soon"]);
    now += DAY;
    await look();
    expect(lines).toHaveLength(2);
  });
});
