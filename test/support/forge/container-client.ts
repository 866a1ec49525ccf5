import { createHash } from "node:crypto";
import { containerTypes } from "../../../daemon/contract/forge/packages/containers.ts";
import type { TestAnswer, TestDaemon, TestRequest } from "../daemon.ts";

/** The digest of bytes, as a registry names them. */
export function digestOf(bytes: string | Uint8Array, algorithm = "sha256"): string {
  return `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;
}

/** A manifest with its digest, ready to be sent. */
export interface TestManifest {
  readonly type: string;
  readonly text: string;
  readonly digest: string;
}

export function toManifest(content: object, type: string = containerTypes.image): TestManifest {
  const text = JSON.stringify({ schemaVersion: 2, mediaType: type, ...content });
  return { type, text, digest: digestOf(text) };
}

export const toDescriptor = (bytes: string, mediaType = "application/octet-stream") => ({
  mediaType,
  digest: digestOf(bytes),
  size: Buffer.byteLength(bytes),
});

const CONFIG = JSON.stringify({
  os: "linux",
  architecture: "arm64",
  config: { Labels: { a: "b" } },
});
const CONFIG_TYPE = "application/vnd.oci.image.config.v1+json";

/** The manifest of an image with a configuration and layers, whose bytes are the texts. */
export const imageOf = (layers: readonly string[], more: object = {}, config = CONFIG) =>
  toManifest({
    config: toDescriptor(config, CONFIG_TYPE),
    layers: layers.map((layer) => toDescriptor(layer, "application/vnd.oci.image.layer.v1.tar")),
    ...more,
  });

/** A client of the registry of a test daemon. `as` is sent with each request. */
export function createContainerClient(
  daemon: () => TestDaemon,
  as: Pick<TestRequest, "token" | "basic" | "bearer"> = {},
) {
  const send = (method: string, path: string, init: TestRequest = {}): Promise<TestAnswer> =>
    daemon().request(path.startsWith("/") ? path : `/v2/${path}`, { ...as, method, ...init });
  const putBlob = (image: string, bytes: string, algorithm = "sha256") =>
    send("POST", `${image}/blobs/uploads/?digest=${digestOf(bytes, algorithm)}`, { body: bytes });
  const putManifest = (image: string, reference: string, { type, text }: TestManifest) =>
    send("PUT", `${image}/manifests/${reference}`, {
      headers: { "Content-Type": type },
      body: text,
    });
  return {
    send,
    putBlob,
    putManifest,
    /** Begins an upload and returns its address. */
    async start(image: string): Promise<string> {
      const started = await send("POST", `${image}/blobs/uploads/`);
      if (started.status !== 202) throw new Error(`${started.status} ${started.text}`);
      return started.headers.get("location") ?? "";
    },
    /** Pushes an image with its blobs under a tag or digest. */
    async push(
      image: string,
      reference: string | undefined,
      layers: readonly string[],
      { more = {}, config = CONFIG }: { readonly more?: object; readonly config?: string } = {},
    ): Promise<TestManifest> {
      for (const bytes of [config, ...layers]) await putBlob(image, bytes);
      const manifest = imageOf(layers, more, config);
      const put = await putManifest(image, reference ?? manifest.digest, manifest);
      if (put.status !== 201) throw new Error(`${put.status} ${put.text}`);
      return manifest;
    },
    async tags(image: string): Promise<readonly string[]> {
      return (await send("GET", `${image}/tags/list`)).json?.tags ?? [];
    },
  };
}

/** The code of a refusal. */
export const codeOf = ({ json }: TestAnswer): string | undefined => json?.errors?.[0]?.code;
