import { afterAll } from "vitest";
import { s3Capabilities } from "../../storage/cloud/s3/findings.ts";
import { findMoto, MOTO, startMoto } from "../support/cloud/s3-servers.ts";
import { cloudProviderSuite } from "./cloud-provider.suite.ts";

// The S3 server of another project, with and without versions.

const program = findMoto();
const server = program === undefined ? undefined : await startMoto(program);
afterAll(() => server?.[Symbol.asyncDispose]());

for (const isVersioned of [false, true]) {
  const bucket = await server?.createBucket(isVersioned ? "versioned" : "plain", { isVersioned });
  cloudProviderSuite(`s3 (moto${isVersioned ? ", with versions" : ""})`, {
    entriesForPages: 25,
    capabilities: bucket?.capabilities ?? { ...s3Capabilities, trash: isVersioned },
    make: async () => {
      if (bucket === undefined) throw new Error(MOTO);
      return bucket.open();
    },
    faults: [],
    withoutFaults: "a real server cannot inject failures",
    cannot: { 50: "keys do not end and are not renewed" },
    needs: { isThere: bucket !== undefined, reason: MOTO },
  });
}
