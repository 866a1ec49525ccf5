import { Agent } from "undici";
import { createBucketClient } from "../../../storage/s3/client.ts";
import { toFindings, toCapabilities } from "../../../storage/cloud/s3/findings.ts";
import { s3 } from "../../../storage/cloud/s3/provider.ts";
import type {
  CloudProvider,
  ProbeResult,
  ProviderCapabilities,
} from "../../../storage/cloud/provider.ts";
import type { CloudSubject } from "../../conformance/cloud-provider.suite.ts";
import { testProviderDeps } from "./vault-cloud.ts";

/** A bucket of a server that runs somewhere else. */
export interface RealBucket {
  /** As the server was found. */
  readonly capabilities: ProviderCapabilities;
  /** Servers on Tomcat answer 400 to a backslash. */
  readonly refusesBackslashes: boolean;
  /** A folder of its own in the bucket, connected twice. Disposing of it empties that. */
  open(): Promise<CloudSubject>;
}

/** The environment variables of a real bucket to test. The bucket should be empty. */
export const REAL_BUCKET =
  "CROFT_TEST_S3_ENDPOINT, CROFT_TEST_S3_BUCKET, CROFT_TEST_S3_KEY and CROFT_TEST_S3_SECRET name no bucket of a real server";

const calm = new AbortController().signal;

/** The bucket that the environment names; undefined without the variables. */
export async function findRealBucket(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<RealBucket | undefined> {
  const {
    CROFT_TEST_S3_ENDPOINT: endpoint,
    CROFT_TEST_S3_BUCKET: bucket,
    CROFT_TEST_S3_KEY: id,
    CROFT_TEST_S3_SECRET: secret,
    CROFT_TEST_S3_REGION: region = "us-east-1",
    CROFT_TEST_S3_PATH_STYLE: style = "true",
  } = environment;
  if (!endpoint || !bucket || !id || !secret) return undefined;

  async function connect(prefix: string, agent: Agent, probeResult: ProbeResult | undefined) {
    const outcome = await s3.connect(
      {
        connectionId: crypto.randomUUID(),
        settings: {
          endpoint: endpoint ?? "",
          bucket: bucket ?? "",
          region,
          path_style: style,
          prefix,
        },
        credentials: { access_key_id: id ?? "", secret_access_key: secret ?? "" },
        probeResult,
        saveCredentials: async () => undefined,
        signal: calm,
      },
      { ...deps, guarded: agent },
    );
    if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
    return outcome;
  }

  const deps = { ...testProviderDeps("", Date.now), newId: () => crypto.randomUUID() };
  const first = new Agent();
  const { provider: trial, probeResult } = await connect("suite", first, undefined);
  const tried = await trial.createFolder({ parent: "", name: "a\\b", signal: calm });
  if (tried.kind === "ok") await trial.delete({ id: tried.item.id, expected: {}, signal: calm });
  await first.destroy();

  return {
    capabilities: toCapabilities(toFindings(probeResult, region)),
    refusesBackslashes: tried.kind === "invalid_name",

    async open() {
      const prefix = `suite/${crypto.randomUUID()}`;
      const agent = new Agent();
      const client = createBucketClient(
        {
          endpoint,
          region: String(probeResult["region"]),
          bucket,
          isPathStyle: style === "true",
          keys: { accessKeyId: id, secretAccessKey: secret, sessionToken: undefined },
        },
        { guarded: agent, clock: Date.now },
      );
      const provider: CloudProvider = (await connect(prefix, agent, probeResult)).provider;
      const other = (await connect(prefix, agent, probeResult)).provider;
      return {
        provider,
        other,
        async overwrite(item, bytes) {
          const body = Buffer.from(bytes);
          const sent = await client.sendAndDiscard({
            method: "PUT",
            key: `${prefix}/${item}`,
            body,
            signal: calm,
          });
          if (sent.kind === "refused") throw new Error(JSON.stringify(sent));
        },
        async leftovers() {
          const page = await client.page({ prefix: `${prefix}/.croft/` }, calm);
          if (page.kind === "refused") throw new Error(JSON.stringify(page));
          return page.objects.map(({ key }) => key);
        },
        faults: {},
        async [Symbol.asyncDispose]() {
          const listed = await provider.list({ folder: "", signal: calm });
          for (const item of listed.kind === "ok" ? listed.items : [])
            await provider.delete({ id: item.id, expected: {}, permanently: true, signal: calm });
          await agent.destroy();
        },
      };
    },
  };
}
