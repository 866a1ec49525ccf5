import { jwtVerify, SignJWT } from "jose";
import type { Keyring } from "../../../../storage/keys/keyring.ts";
import { ARTIFACT_SERVICE } from "../../../contract/api-of.ts";
import { type ForgeUrls, toUrl } from "../../urls.ts";
import { type ArtifactId, toArtifactId } from "../../../../storage/tables/forge/ids.ts";

/** The operation that a signed address allows, and its artifact. */
export interface ArtifactGrant {
  readonly artifactId: ArtifactId;
  readonly use: "upload" | "download";
}

const PURPOSE = "action-artifact-address";
const ISSUER = "croft-artifacts";
/** Lifetime of upload addresses: an upload may take longer than a download needs to begin. */
const LIFETIMES_MS = { upload: 6 * 3_600_000, download: 3_600_000 } as const;
const METHODS = { upload: "UploadArtifact", download: "DownloadArtifact" } as const;

/** Signed addresses that let their holder upload or download one artifact for a limited time. */
export type ArtifactAddresses = ReturnType<typeof createArtifactAddresses>;

export function createArtifactAddresses({
  keyring,
  urls,
  clock,
}: {
  readonly keyring: Pick<Keyring, "derive" | "deriveAll">;
  readonly urls: ForgeUrls;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}) {
  return {
    async sign({ artifactId, use }: ArtifactGrant): Promise<string> {
      const now = new Date(clock());
      const signature = await new SignJWT({ use })
        .setProtectedHeader({ alg: "HS256" })
        .setIssuer(ISSUER)
        .setSubject(String(artifactId))
        .setIssuedAt(now)
        .setExpirationTime(new Date(now.getTime() + LIFETIMES_MS[use]))
        .sign(keyring.derive(PURPOSE));
      return toUrl(urls, `${ARTIFACT_SERVICE}/${METHODS[use]}?sig=${signature}`);
    },

    /** Returns the grant in a signature; undefined when the signature is invalid or expired. */
    async verify(signature: string): Promise<ArtifactGrant | undefined> {
      for (const key of keyring.deriveAll(PURPOSE)) {
        // jose throws a different error for each reason; all of them mean an invalid signature here.
        const verified = await jwtVerify(signature, key, {
          issuer: ISSUER,
          algorithms: ["HS256"],
          currentDate: new Date(clock()),
        }).catch(() => undefined);
        if (verified === undefined) continue;
        const { use, sub = "" } = verified.payload;
        if ((use !== "upload" && use !== "download") || !/^\d{1,15}$/.test(sub)) return undefined;
        return { artifactId: toArtifactId(sub), use };
      }
      return undefined;
    },
  };
}
