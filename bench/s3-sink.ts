import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

// A server that takes multipart uploads like S3 and keeps only their sizes: this measures croft, not a disk. It prints
// its origin when it is ready.

const BUCKET = "sink";
const sizes = new Map<string, number>();

const server = createServer((request, response) => {
  const { method = "GET", url = "/" } = request;
  const { pathname, searchParams } = new URL(url, "http://sink");
  const key = pathname.slice(BUCKET.length + 2);
  let bytes = 0;
  request.on("data", (chunk: Buffer) => (bytes += chunk.byteLength));
  request.on("end", () => {
    const xml = (text: string) => response.writeHead(200).end(`<?xml version="1.0"?>${text}`);
    if (method === "PUT") {
      sizes.set(key, (sizes.get(key) ?? 0) + bytes);
      response.writeHead(200, { etag: '"part"' }).end();
    } else if (method === "HEAD") {
      response.writeHead(200, { etag: '"whole"', "content-length": sizes.get(key) ?? 0 }).end();
    } else if (method === "POST")
      xml(
        searchParams.has("uploads")
          ? "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
          : "<CompleteMultipartUploadResult><ETag>whole</ETag></CompleteMultipartUploadResult>",
      );
    else if (method === "GET")
      xml("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>");
    else response.writeHead(204).end();
  });
});

server.listen(0, "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
process.on("SIGTERM", () => process.exit(0));
